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

// imagePrograms are the programs that our own code runs inside the machine and that are built, not taken out of Debian's
// packages; those are fileset.RootTools.
var imagePrograms = map[string]string{
	"/sbin/init":          "machined itself, which the initramfs switches to",
	"/usr/bin/containerd": "built from its module",
	"/proc/self/exe":      "the program that runs already",
}

// shellWords are what a shell runs without a program.
var shellWords = strings.Fields(". : [ break cd command continue echo eval exec exit export false printf pwd read return set shift test trap true ulimit umask unset wait")

// place is where a program is run.
type place struct{ name, where string }

// TestProgramsAreInATable wants every program that is run on the machine that builds, tests and holds the lab in the
// table of package hosttools, which is what is installed before the first build step, and every program that is run
// inside the machine in its image. And what is in the table is run somewhere, or it would be installed for nothing.
func TestProgramsAreInATable(t *testing.T) {
	code := goPrograms(t)

	for _, u := range code.unknown {
		t.Errorf("%s: which program runs here cannot be told from the source: say so with //program: (see goprograms_test.go)", u)
	}

	onHost := map[string]bool{}
	for _, tool := range hosttools.Tools {
		onHost[tool.Name] = true
	}

	inImage := fileset.RootTools()
	used := map[string]bool{}

	for _, p := range slices.Concat(code.found, shellPrograms(t)) {
		name := p.name

		// As scripts name what is in the tree.
		if strings.Contains(name, "out/") && !path.IsAbs(name) {
			continue
		}

		if path.IsAbs(name) && !onTheHost(p.where) {
			if imagePrograms[name] == "" && !slices.Contains(inImage, name) {
				t.Errorf("%s runs %s inside the machine: neither imagePrograms nor fileset.RootTools has it", p.where, name)
			}

			continue
		}

		if path.IsAbs(name) && imagePrograms[name] == "" {
			name = path.Base(name)
		}

		used[name] = true

		if !onHost[name] && imagePrograms[name] == "" {
			t.Errorf("%s runs %s, which is not in hosttools.Tools: without it there, a fresh machine has no such program", p.where, name)
		}
	}

	for _, tool := range hosttools.Tools {
		if !used[tool.Name] && !path.IsAbs(tool.Name) {
			t.Errorf("nothing runs %s, which is in hosttools.Tools", tool.Name)
		}
	}
}

// onTheHost reports whether the code in a file runs on the machine that builds, and not in the one that is built.
func onTheHost(where string) bool {
	file, _, _ := strings.Cut(where, ":")
	first, _, _ := strings.Cut(filepath.ToSlash(file), "/")

	return strings.HasSuffix(file, "_test.go") || slices.Contains([]string{"build", "lab", "ctl", "test", "Makefile", ".ci"}, first)
}
