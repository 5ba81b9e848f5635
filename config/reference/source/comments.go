// SPDX-License-Identifier: Apache-2.0

// Package source reads the texts of the reference from the comments in the source code. It is apart from package reference, so that programs
// that print the texts do not contain a parser of Go.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Comments reads the comments of types and their fields below the folder config: lines with "PACKAGE.TYPE" or "PACKAGE.TYPE.FIELD", a tab, and
// the text. The package is its folder below config.
func Comments(config string) ([]byte, error) {
	all := map[string]string{}

	err := filepath.WalkDir(config, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}

		folder, err := filepath.Rel(config, filepath.Dir(file))
		if err != nil || !hasTypes(filepath.ToSlash(folder)) {
			return err
		}

		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}

		return collectFile(all, filepath.ToSlash(folder), file, text)
	})
	if err != nil {
		return nil, fmt.Errorf("collect the comments of documents: %w", err)
	}

	var out strings.Builder

	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "%s\t%s\n", name, all[name])
	}

	return []byte(out.String()), nil
}

// hasTypes reports whether a folder below config has types of documents.
func hasTypes(folder string) bool {
	return folder == "v1alpha1" || folder == "document" || folder == "value" || path.Dir(folder) == "documents"
}

func collectFile(all map[string]string, folder, file string, text []byte) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}

	for _, d := range parsed.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.TYPE {
			continue
		}

		for _, spec := range declaration.Specs {
			t := spec.(*ast.TypeSpec)
			name := folder + "." + t.Name.Name

			about := t.Doc
			if about == nil {
				about = declaration.Doc
			}

			note(all, name, about)

			if s, ok := t.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, n := range f.Names {
						note(all, name+"."+n.Name, f.Doc)
					}
				}
			}
		}
	}

	return nil
}

// note keeps a comment as one line.
func note(all map[string]string, name string, doc *ast.CommentGroup) {
	if text := strings.Join(strings.Fields(doc.Text()), " "); text != "" {
		all[name] = text
	}
}
