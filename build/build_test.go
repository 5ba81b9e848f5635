// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/build/source"
	"github.com/seed-59268b81/talos/config/images"
)

// modFile is what the tests read of a go.mod.
type modFile struct {
	requires map[string]string
	tools    []string
	replaces map[string]string
}

func readMod(t *testing.T, folder string) modFile {
	t.Helper()

	raw, err := os.ReadFile(filepath.Join("modules", folder, "go.mod"))
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

		// What is built must be named, or `go mod tidy` drops its dependencies.
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

	// No folder with a go.mod is forgotten.
	found, err := filepath.Glob("modules/*/go.mod")
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

func TestRecipesAreTheImagesOfTheCache(t *testing.T) {
	steps, err := imageSteps(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	var got []string

	for _, s := range steps {
		if s.Name != artifact.TargetImages {
			got = append(got, s.About)
		}
	}

	want := images.Cache()
	slices.Sort(want)
	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-config/images +built):\n%s", diff)
	}
}

func TestByRepository(t *testing.T) {
	for name, test := range map[string]struct {
		references []string
		err        string
	}{
		"two repositories": {[]string{"a.example/x:v1", "a.example/y:v1"}, ""},
		"two versions":     {[]string{"a.example/x:v1", "a.example/x:v2"}, "one repository in two versions"},
		"no tag":           {[]string{"a.example/x"}, "no tag"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := byRepository(test.references)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, %v; want an error with %q", got, err, test.err)
			}
		})
	}
}

func TestGraphIsWhole(t *testing.T) {
	g, err := NewGraph(Options{Root: "..", Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}
	for _, s := range g.Steps() {
		names[s.Name] = true
	}

	published := map[string]string{}

	for _, s := range g.Steps() {
		for _, need := range s.Needs {
			if !names[need] {
				t.Errorf("step %s needs %s, which is no step", s.Name, need)
			}
		}

		for _, to := range s.Publish {
			if other := published[to]; other != "" {
				t.Errorf("steps %s and %s both publish %s", other, s.Name, to)
			}

			published[to] = s.Name
		}
	}

	for _, target := range []string{
		artifact.TargetAll, artifact.TargetKernel, artifact.TargetBoot, artifact.TargetFirmware, artifact.TargetRootfs, artifact.TargetImages, artifact.TargetTalos, artifact.TargetTalosctl, artifact.TargetKubectl,
	} {
		for _, step := range Expand([]string{target}) {
			if !names[step] {
				t.Errorf("target %s stands for step %s, which is none", target, step)
			}
		}
	}
}

func TestExpand(t *testing.T) {
	for name, test := range map[string]struct{ targets, want []string }{
		"alias":       {[]string{artifact.TargetKubectl}, []string{"kubernetes"}},
		"only tools":  {[]string{artifact.TargetHostTools}, nil},
		"step":        {[]string{"runc"}, []string{"runc"}},
		"overlapping": {[]string{artifact.TargetKubectl, "runc", "kubernetes"}, []string{"kubernetes", "runc"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Expand(test.targets)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}

	if got := Expand(nil); !slices.Equal(got, Expand([]string{artifact.TargetAll})) {
		t.Errorf("no target: got %v, want all", got)
	}
}

func TestBuiltName(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":                                   "server",
		"github.com/containerd/containerd/v2/cmd/containerd":          "containerd",
		"github.com/containerd/containerd/v2/cmd/containerd-shim-v12": "containerd-shim-v12",
		"example.org/v":   "v",
		"example.org/v2x": "v2x",
	} {
		if got := builtName(pkg); got != want {
			t.Errorf("%s: got %q, want %q", pkg, got, want)
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

// releaseSource is the folder of the Kubernetes release, if a build has fetched it.
func releaseSource(t *testing.T) string {
	t.Helper()

	source, err := output(t.Context(), modulePath("..", "kubernetes"), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	if err == nil && source == "" {
		err = fs.ErrNotExist
	}

	if err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the module k8s.io/kubernetes is not in this machine's module cache (%w): run go mod download there", err))
	}

	return source
}

func TestVersionsInsideTheKubernetesRelease(t *testing.T) {
	// config/images writes the version down; the release's own Makefile, when it is on this machine, must agree.
	source := releaseSource(t)

	for file, test := range map[string]struct{ pattern, want string }{
		"build/pause/Makefile":        {`(?m)^TAG \?= (.*)$`, images.PauseVersion},
		"test/images/agnhost/VERSION": {`(?m)^(.*)$`, images.AgnhostVersion},
	} {
		raw, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			t.Fatal(err)
		}

		match := regexp.MustCompile(test.pattern).FindStringSubmatch(string(raw))
		if match == nil || match[1] != test.want {
			t.Errorf("%s: got version %q, config/images says %q", file, match, test.want)
		}
	}
}

func TestRecipesNameFilesThatAreThere(t *testing.T) {
	for _, recipe := range [][]string{setSources, rootfsSources, imageSources} {
		for _, file := range recipe {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("a recipe names a source that is not there: %v", err)
			}
		}
	}

	// A changed recipe must change the hash, an unrelated file must not.
	root := t.TempDir()
	put := func(name, content string) string {
		t.Helper()

		path := filepath.Join(root, "build", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}

		hash, err := source.Of(root, imageSources...)
		if err != nil {
			t.Fatal(err)
		}

		return hash
	}

	first := put("images.go", "a")

	if got := put("talos.go", "b"); got != first {
		t.Error("a file of another recipe changed the hash")
	}

	if got := put("ociimage/layer.go", "c"); got == first {
		t.Error("a file of the recipe did not change the hash")
	}
}
