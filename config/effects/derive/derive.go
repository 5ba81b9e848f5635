// SPDX-License-Identifier: Apache-2.0

// Package derive finds out which keys of a machine configuration do something, from the source: those whose field some
// controller, or the machine itself, reads.
//
// It type-checks these packages with what the go command has compiled of the others, and notes each field of a document's type that is
// selected there, or in a function of the view or of the documents that they call, directly or through another one. A key counts
// as read if its field and those above it are: an accessor of the view that nobody calls reads nothing. What that cannot see: a
// field that is read and then not used, for which there is a short list with reasons (effects/exceptions.go); and one that is
// read in one of several places that share a type, which is taken for all of them.
package derive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

const (
	module       = "github.com/seed-59268b81/talos/"
	mainDocument = module + "config/v1alpha1"
	documents    = module + "config/documents/"
	view         = module + "config/view"
)

// readers are the packages that carry a configuration out. What only checks or generates one does not count.
var readers = []string{"./controllers/...", "./machine/...", "./apid/...", "./trustd/..."}

// followed are packages whose functions read for those who call them.
var followed = []string{view, mainDocument, documents + "..."}

// isDocuments reports whether a package has documents.
func isDocuments(path string) bool { return path == mainDocument || strings.HasPrefix(path, documents) }

// isFollowed reports whether a package's functions read for those who call them.
func isFollowed(path string) bool { return path == view || isDocuments(path) }

// checks are files and packages among the readers that only check.
var checks = []string{"controllers/validation/", "controllers/k8s/settings/check.go"}

// Unread returns the keys that nothing reads, each the path of a whole branch. root is the repository's folder.
func Unread(root string) ([]string, error) {
	read, err := fieldsRead(root)
	if err != nil {
		return nil, err
	}

	var out []string

	visit(reflect.TypeFor[v1alpha1.Config](), "", read, nil, &out)

	// What a document puts into the main one is read if it is read there.
	unread := slices.Clone(out)
	readInMain := func(key string) bool {
		return !slices.ContainsFunc(unread, func(row string) bool { return row == key || strings.HasPrefix(key, row+".") })
	}

	for _, kind := range config.Kinds() {
		visit(reflect.TypeOf(config.NewDocument(kind)), kind, read, readInMain, &out)
	}

	slices.Sort(out)

	return slices.Compact(out), nil
}

// visit adds the keys below a type that are not read.
func visit(t reflect.Type, path string, read map[string]bool, readInMain func(key string) bool, out *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return
	}

	for name, field := range strict.Fields(t) {
		at := strict.Join(path, name)

		// The fields of a struct that is inlined are its own.
		owner := t
		if n := len(field.Index); n > 1 {
			owner = t.FieldByIndex(field.Index[:n-1]).Type
		}

		if owner.PkgPath() == module+"config/document" {
			continue // it says what the document is
		}

		if keys := document.Equivalent(field.Tag); len(keys) > 0 {
			if !slices.ContainsFunc(keys, readInMain) {
				*out = append(*out, at)
			}

			continue
		}

		if isGroup(field.Type) { // it is read if something in it is
			visit(field.Type, at, read, readInMain, out)

			continue
		}

		if !read[fieldName(owner.PkgPath(), owner.Name(), t.FieldByIndex(field.Index).Name)] {
			*out = append(*out, at)

			continue
		}

		visit(field.Type, at, read, readInMain, out)
	}
}

// isGroup reports whether a type has fields that are put into the main document.
func isGroup(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return false
	}

	for _, field := range strict.Fields(t) {
		if len(document.Equivalent(field.Tag)) > 0 || isGroup(field.Type) {
			return true
		}
	}

	return false
}

// fieldName names a field of a type of a package.
func fieldName(pkg, of, field string) string { return pkg + "." + of + "." + field }

// goPackage is what the go command tells of a package.
type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// fieldsRead returns the fields TYPE.FIELD that some reader selects, itself or by calling a followed function.
func fieldsRead(root string) (map[string]bool, error) {
	all, err := list(root)
	if err != nil {
		return nil, err
	}

	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}

	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s: nothing was compiled of it", path)
		}

		return os.Open(exports[path])
	})

	readers, functions := newReads(), map[string]*reads{}

	for _, p := range all {
		if p.DepOnly {
			continue
		}

		if err := inspect(files, imports, p, readers, functions); err != nil {
			return nil, fmt.Errorf("package %s: %w", p.ImportPath, err)
		}
	}

	return readers.with(functions), nil
}

func list(root string) ([]goPackage, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, slices.Concat(readers, followed)...)

	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")

	var stderr bytes.Buffer

	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}

	var all []goPackage

	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage

		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}

		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}

		all = append(all, p)
	}
}

// inspect notes what a package reads: what a followed one does, by function; of others, all together.
func inspect(files *token.FileSet, imports types.Importer, p goPackage, all *reads, functions map[string]*reads) error {
	var parsed []*ast.File

	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		parsed = append(parsed, file)
	}

	info := newInfo()

	if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, files, parsed, info); err != nil {
		return err
	}

	for i, file := range parsed {
		name := strings.TrimPrefix(p.ImportPath, module) + "/" + p.GoFiles[i]
		if slices.ContainsFunc(checks, func(check string) bool { return strings.HasPrefix(name, check) }) {
			continue
		}

		if !isFollowed(p.ImportPath) {
			all.add(file, info)

			continue
		}

		byFunction(file, info, functions)
	}

	return nil
}
