// SPDX-License-Identifier: Apache-2.0

package reference

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// CommentsFile is where the texts are, in the folder of this package.
const CommentsFile = "comments.txt"

//go:embed comments.txt
var embedded string

// comments are texts by "PACKAGE.TYPE" and "PACKAGE.TYPE.FIELD"; the package is its folder below config.
var comments = sync.OnceValue(func() map[string]string {
	all := map[string]string{}

	for line := range strings.Lines(embedded) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = text
	}

	return all
})

// configFolder is the import path of the packages with types of documents, without the module.
const configFolder = "/config/"

// comment returns the text of a type, or of a field of it.
func comment(t reflect.Type, field string) string {
	_, folder, _ := strings.Cut(t.PkgPath(), configFolder)

	name := folder + "." + t.Name()
	if field != "" {
		name += "." + field
	}

	return comments()[name]
}

// Collect reads the comments from the source below the folder config, in the form of CommentsFile.
func Collect(config string) ([]byte, error) {
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
