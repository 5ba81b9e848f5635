// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// stop is a line of a walk: a file, a function in it, what happens there.
var stop = regexp.MustCompile(`(?m)^(\S+/\S+\.go) +(\w+) {2,}\S`)

// namedFile is a path of a Go file in a text.
var namedFile = regexp.MustCompile("`([a-z0-9_]+/[a-z0-9_/]+\\.go)`")

// TestWalksExist checks that the files and functions that ARCHITECTURE.md names exist.
func TestWalksExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range namedFile.FindAllSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, string(m[1]))); err != nil {
			t.Error(err)
		}
	}

	stops := stop.FindAllSubmatch(text, -1)
	if len(stops) < 30 {
		t.Errorf("got %d stops of walks, want at least 30", len(stops))
	}

	for _, m := range stops {
		if !declares(t, string(m[1]), string(m[2])) {
			t.Errorf("%s has no function %s", m[1], m[2])
		}
	}
}

// declares reports whether a file declares a function or method of the name.
func declares(t *testing.T, path, name string) bool {
	t.Helper()

	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return true
		}
	}

	return false
}
