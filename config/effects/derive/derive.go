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
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

const (
	module    = "github.com/seed-59268b81/talos/"
	documents = module + "config/v1alpha1"
	view      = module + "config/view"
)

// readers are the packages that carry a configuration out. What only checks or generates one does not count.
var readers = []string{"./controllers/...", "./machine/...", "./apid/...", "./trustd/..."}

// followed are packages whose functions read for those who call them.
var followed = []string{view, documents}

// checks are files and packages among the readers that only check.
var checks = []string{"controllers/validation/", "controllers/k8s/settings/check.go"}

// Unread returns the keys that nothing reads, each the path of a whole branch. root is the repository's folder.
func Unread(root string) ([]string, error) {
	read, err := fieldsRead(root)
	if err != nil {
		return nil, err
	}

	var out []string

	visit(reflect.TypeFor[v1alpha1.Config](), "", read, &out)

	for _, kind := range config.Kinds() {
		visit(reflect.TypeOf(config.NewDocument(kind)), kind, read, &out)
	}

	slices.Sort(out)

	return slices.Compact(out), nil
}

// visit adds the keys below a type that are not read.
func visit(t reflect.Type, path string, read map[string]bool, out *[]string) {
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

		if owner == reflect.TypeFor[v1alpha1.Header]() {
			continue // it says what the document is
		}

		if !read[owner.Name()+"."+t.FieldByIndex(field.Index).Name] {
			*out = append(*out, at)

			continue
		}

		visit(field.Type, at, read, out)
	}
}

// fieldsRead returns the fields TYPE.FIELD that some reader selects, itself or by calling a followed function.
func fieldsRead(root string) (map[string]bool, error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.LoadSyntax, Dir: root, Env: append(os.Environ(), "GOOS=linux", "GOARCH=amd64"),
	}, slices.Concat(readers, followed)...)
	if err != nil {
		return nil, err
	}

	read, functions := newReads(), map[string]*reads{}

	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}

		for i, file := range p.Syntax {
			name := strings.TrimPrefix(p.PkgPath, module) + "/" + filepath.Base(p.CompiledGoFiles[i])

			switch {
			case slices.ContainsFunc(checks, func(check string) bool { return strings.HasPrefix(name, check) }):
			case slices.Contains(followed, p.PkgPath):
				byFunction(file, p.TypesInfo, functions)
			default:
				read.add(file, p.TypesInfo)
			}
		}
	}

	return read.with(functions), nil
}
