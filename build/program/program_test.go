// SPDX-License-Identifier: Apache-2.0

package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

// modFile is the content of a go.mod.
type modFile struct {
	requires map[string]string
	tools    []string
	replaces map[string]string
}

func readMod(t *testing.T, folder string) modFile {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join("../modules", folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}

	var (
		m     = modFile{requires: map[string]string{}, replaces: map[string]string{}}
		block string
	)

	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)

		switch {
		case len(fields) == 0:
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]

			continue
		case fields[0] == ")":
			block = ""

			continue
		case block != "":
			fields = append([]string{block}, fields...)
		}

		switch fields[0] {
		case "require":
			m.requires[fields[1]] = fields[2]
		case "tool":
			m.tools = append(m.tools, fields[1])
		case "replace":
			m.replaces[fields[1]] = strings.Join(fields[3:], " ")
		}
	}

	return m
}

func TestModulesHaveTheVersionsOfConfigImages(t *testing.T) {
	var folders []string

	for _, m := range modules() {
		folders = append(folders, m.folder)

		mod := readMod(t, m.folder)
		if got := mod.requires[m.upstream]; got != m.version {
			t.Errorf("build/modules/%s/go.mod requires %s %s, config/images says %s", m.folder, m.upstream, got, m.version)
		}

		// Programs must have a tool line, or `go mod tidy` drops their dependencies.
		var built []string

		for _, p := range m.programs {
			if !strings.HasPrefix(p.pkg, "github.com/seed-59268b81/") {
				built = append(built, p.pkg)
			}
		}

		slices.Sort(built)
		slices.Sort(mod.tools)

		if diff := cmp.Diff(built, mod.tools); diff != "" {
			t.Errorf("build/modules/%s: programs built, and the tool lines of its go.mod (-built +tool):\n%s", m.folder, diff)
		}
	}

	// Every folder with a go.mod is a module.
	found, err := filepath.Glob("../modules/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}

	for i := range found {
		found[i] = filepath.Base(filepath.Dir(found[i]))
	}

	slices.Sort(folders)

	if diff := cmp.Diff(folders, found); diff != "" {
		t.Errorf("folders of modules (-built +there):\n%s", diff)
	}
}

func TestKubernetesLibrariesAreOfItsRelease(t *testing.T) {
	release := strings.Replace(images.KubernetesVersion, "v1.", "v0.", 1)

	for _, folder := range []string{"kubernetes", "conformance", "e2e"} {
		mod := readMod(t, folder)

		if len(mod.replaces) < 30 {
			t.Errorf("build/modules/%s: replaced libraries: got %d, want all of Kubernetes' staging modules, over 30",
				folder, len(mod.replaces))
		}

		for name, with := range mod.replaces {
			if want := name + " " + release; with != want {
				t.Errorf("build/modules/%s replaces %s with %q, want %q", folder, name, with, want)
			}
		}
	}
}

func TestBuiltName(t *testing.T) {
	for p, want := range map[*program]string{
		{pkg: "go.etcd.io/etcd/server/v3"}:                                   "server",
		{pkg: "github.com/containerd/containerd/v2/cmd/containerd"}:          "containerd",
		{pkg: "github.com/containerd/containerd/v2/cmd/containerd-shim-v12"}: "containerd-shim-v12",
		{pkg: "example.org/v"}:                                               "v",
		{pkg: "example.org/v2x"}:                                             "v2x",
		{pkg: "k8s.io/kubernetes/test/e2e", test: true}:                      "e2e.test",
	} {
		if got := p.builtName(); got != want {
			t.Errorf("%s: got %q, want %q", p.pkg, got, want)
		}
	}
}

func TestHashFiles(t *testing.T) {
	dir := t.TempDir()
	all := func(string) bool { return true }
	hash := func(want func(string) bool) string {
		t.Helper()

		h, err := source.Hash(dir, want)
		if err != nil {
			t.Fatal(err)
		}

		return h
	}
	put := func(name, content string) {
		t.Helper()

		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	put("a.go", "package a")
	put("sub/b.go", "package b")

	first := hash(all)

	put(".git/HEAD", "x")
	put("out/bin/talos", "x")

	if got := hash(all); got != first {
		t.Error("files below .git or out changed the hash")
	}

	put("a_test.go", "package a")

	if got := hash(isSource); got != first {
		t.Error("a test changed the hash of the sources")
	}

	if got := hash(all); got == first {
		t.Error("a new file did not change the hash of all files")
	}

	put("sub/b.go", "package c")

	if got := hash(isSource); got == first {
		t.Error("a changed source did not change the hash")
	}
}
