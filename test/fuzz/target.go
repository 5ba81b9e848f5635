// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// target is a fuzz target.
type target struct{ pkg, name string }

func (t target) String() string { return t.pkg + " " + t.name }

// targets returns the fuzz targets of packages whose names match. Packages below out, which holds built files, have none.
func targets(ctx context.Context, wanted *regexp.Regexp, patterns []string) ([]target, error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles"}, patterns...)...)
	list.Stderr = os.Stderr

	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}

	var found []target

	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}

		if err := decoder.Decode(&p); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("list the packages: %w", err)
		}

		if strings.Contains(p.ImportPath, "/talos/out/") {
			continue
		}

		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			names, err := targetsIn(filepath.Join(p.Dir, file), nil)
			if err != nil {
				return nil, err
			}

			for _, name := range names {
				if wanted.MatchString(name) {
					found = append(found, target{p.ImportPath, name})
				}
			}
		}
	}
}

// targetsIn returns the names of the fuzz targets in a file of tests, whose text is read from the path if it is nil.
func targetsIn(path string, text any) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}

	var names []string

	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || len(f.Type.Params.List) != 1 {
			continue
		}

		// As go test does: what follows must not begin with a lower-case letter.
		rest, ok := strings.CutPrefix(f.Name.Name, "Fuzz")
		if first, _ := utf8.DecodeRuneInString(rest); ok && !unicode.IsLower(first) {
			names = append(names, f.Name.Name)
		}
	}

	return names, nil
}
