// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/spdx"
)

// TestOf lists the software of a tree with a small Go program, a script, and a program that is not Go's.
func TestOf(t *testing.T) {
	tree, source := t.TempDir(), t.TempDir()

	for name, text := range map[string]string{
		filepath.Join(source, "go.mod"):  "module " + ours + "\n\ngo 1.24\n",
		filepath.Join(source, "main.go"): "package main\n\nfunc main() {}\n",
		filepath.Join(tree, "script"):    "#!/bin/sh\n",
		filepath.Join(tree, "data"):      "data",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	build := exec.Command(hosttest.Need(t, "go"), "build", "-o", filepath.Join(tree, "program"), ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	hash := strings.Repeat("ab", 32)

	got, err := Of(tree, "v1.2.3", []debian.Package{{Name: "libstdc++6", Version: "1:2.3+4~5", SHA256: hash}})
	goVersion := strings.TrimPrefix(runtime.Version(), "go")
	want := []spdx.Package{
		{Name: ours, Version: "v1.2.3", License: "Apache-2.0", PURLs: []string{"pkg:golang/" + ours + "@v1.2.3"}},
		{Name: "libstdc++6", Version: "1:2.3+4~5", SHA256: hash, PURLs: []string{"pkg:deb/debian/libstdc%2B%2B6@1:2.3%2B4~5?arch=amd64&distro=debian-12"}},
		{
			Name: "stdlib", Version: goVersion, License: "BSD-3-Clause", PURLs: []string{"pkg:golang/stdlib@" + goVersion},
			CPEs: []string{"cpe:2.3:a:golang:go:" + goVersion + ":*:*:*:*:*:*:*"},
		},
	}

	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// TestModules lists the modules of a program that the build has made.
func TestModules(t *testing.T) {
	program, err := buildinfo.ReadFile(hosttest.Built(t, "runc"))
	if err != nil {
		t.Fatal(err)
	}

	got := modules(program, "v1")

	for _, name := range []string{"stdlib", "github.com/opencontainers/runc", "golang.org/x/sys"} {
		if !slices.ContainsFunc(got, func(p spdx.Package) bool { return p.Name == name && p.Version != "" && len(p.PURLs) == 1 }) {
			t.Errorf("%s is missing in %+v", name, got)
		}
	}
}
