// SPDX-License-Identifier: Apache-2.0

package house

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/build/fileset"
	"github.com/seed-59268b81/talos/build/hosttools"
)

// imagePrograms are the programs that our code runs inside the machine, except those of Debian's packages, which are in
// fileset.RootTools.
var imagePrograms = map[string]string{
	"/sbin/init":          "machined; the initramfs executes it",
	"/usr/bin/containerd": "built from its module",
	"/proc/self/exe":      "the running program",
}

// shellWords are builtins of the shell.
var shellWords = strings.Fields(". : [ break cd command continue echo eval exec exit export false printf pwd read return set shift test trap true ulimit umask unset wait")

// place is a program and the place that runs it.
type place struct{ name, where string }

// TestProgramsAreInATable checks that every program that runs on the host is in the table of package hosttools, whose
// programs are installed before the first build step. It also checks that every program that runs inside the machine is in its
// image, and that every program in the table is used.
func TestProgramsAreInATable(t *testing.T) {
	code := goPrograms(t)

	for _, u := range code.unknown {
		t.Errorf("%s: the source does not show which program runs here: add a comment //program: (see goprograms_test.go)", u)
	}

	onHost := map[string]bool{}
	for _, tool := range hosttools.Tools {
		onHost[tool.Name] = true
	}

	inImage := fileset.RootTools()
	used := map[string]bool{}

	for _, p := range slices.Concat(code.found, shellPrograms(t)) {
		name := p.name

		// Scripts name programs of the tree so.
		if strings.Contains(name, "out/") && !path.IsAbs(name) {
			continue
		}

		if path.IsAbs(name) && !onTheHost(p.where) {
			if imagePrograms[name] == "" && !slices.Contains(inImage, name) {
				t.Errorf("%s runs %s inside the machine, but it is neither in imagePrograms nor in fileset.RootTools", p.where, name)
			}

			continue
		}

		if path.IsAbs(name) && imagePrograms[name] == "" {
			name = path.Base(name)
		}

		used[name] = true

		if !onHost[name] && imagePrograms[name] == "" {
			t.Errorf("%s runs %s, which is not in hosttools.Tools: add it, so that it is installed", p.where, name)
		}
	}

	for _, tool := range hosttools.Tools {
		if !used[tool.Name] && !path.IsAbs(tool.Name) {
			t.Errorf("hosttools.Tools has %s, but no code runs it", tool.Name)
		}
	}
}

// onTheHost reports whether the code in a file runs on the host and not inside the machine.
func onTheHost(where string) bool {
	file, _, _ := strings.Cut(where, ":")
	first, _, _ := strings.Cut(filepath.ToSlash(file), "/")

	return strings.HasSuffix(file, "_test.go") || slices.Contains([]string{"build", "lab", "ctl", "test", "Makefile", ".ci"}, first)
}
