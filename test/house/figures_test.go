// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Files and functions are short, with one purpose each. For tests only the maximum length of a file applies: tables of cases
// may be long.
const (
	maxFileMedian = 100
	maxFileP90    = 220
	maxFile       = 450

	maxFunctionP90 = 36
	maxFunction    = 100
)

// length is the number of lines of a file or function.
type length struct {
	lines int
	what  string
}

// quantile returns the length that q percent do not exceed.
func quantile(all []length, q int) int {
	all = slices.SortedFunc(slices.Values(all), func(a, b length) int { return a.lines - b.lines })

	return all[(len(all)-1)*q/100].lines
}

func TestFilesAreShort(t *testing.T) {
	var all []length

	each(t, ".go", func(p string, text []byte) {
		if generated.Match(text) {
			return
		}

		n := bytes.Count(text, []byte("\n"))
		if n > maxFile {
			t.Errorf("%s: got %d lines, want at most %d: split it", p, n, maxFile)
		}

		if !strings.HasSuffix(p, "_test.go") {
			all = append(all, length{n, p})
		}
	})

	if got := quantile(all, 50); got > maxFileMedian {
		t.Errorf("half of the files have more than %d lines, want at most %d", got, maxFileMedian)
	}

	if got := quantile(all, 90); got > maxFileP90 {
		t.Errorf("a tenth of the files has more than %d lines, want at most %d", got, maxFileP90)
	}
}

func TestFunctionsAreShort(t *testing.T) {
	var all []length

	each(t, ".go", func(p string, text []byte) {
		if generated.Match(text) || strings.HasSuffix(p, "_test.go") {
			return
		}

		functions, err := functionLengths(p, text)
		if err != nil {
			t.Error(err)
		}

		for _, f := range functions {
			if f.lines > maxFunction {
				t.Errorf("%s: got %d lines, want at most %d: split it", f.what, f.lines, maxFunction)
			}
		}

		all = append(all, functions...)
	})

	if got := quantile(all, 90); got > maxFunctionP90 {
		t.Errorf("a tenth of the functions has more than %d lines, want at most %d", got, maxFunctionP90)
	}
}

// functionLengths returns the lengths of the functions and methods of a file, from func to the closing brace.
func functionLengths(p string, text []byte) ([]length, error) {
	set := token.NewFileSet()

	file, err := parser.ParseFile(set, p, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}

	var all []length

	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			from, to := set.Position(f.Pos()), set.Position(f.End())
			all = append(all, length{to.Line - from.Line + 1, from.String() + ": " + f.Name.Name})
		}
	}

	return all, nil
}

func TestFunctionLengths(t *testing.T) {
	const text = "package a\n\nfunc a() {}\n\n// b is long.\nfunc b(\n\tx int,\n) int {\n\treturn x\n}\n"

	got, err := functionLengths("a.go", []byte(text))
	if want := []length{{1, "a.go:3:1: a"}, {5, "a.go:6:1: b"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}

	if got := quantile([]length{{lines: 9}, {lines: 1}, {lines: 5}}, 50); got != 5 {
		t.Errorf("median: got %d, want 5", got)
	}
}
