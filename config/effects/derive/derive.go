// SPDX-License-Identifier: Apache-2.0

// Package derive finds, in the source, the keys of a machine configuration that have an effect: those whose field a
// controller or the machine itself reads.
//
// It type-checks these packages and notes each field of a document's type that they select. It follows calls to functions of the
// view and of the documents, also indirect ones: an accessor of the view without a caller reads nothing. A key is read if its field
// and those above it are. There are two limits. A field may be read and then not used; effects/exceptions.go lists such fields with
// reasons. And when several keys share a type, a field that is read for one of them counts as read for all.
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

// readers are the packages that apply a configuration. Packages that only check or generate one do not count.
var readers = []string{"./controllers/...", "./machine/...", "./apid/...", "./trustd/..."}

// followed are the packages whose functions read on behalf of their callers.
var followed = []string{view, mainDocument, documents + "..."}

// isDocuments reports whether a package has documents.
func isDocuments(path string) bool { return path == mainDocument || strings.HasPrefix(path, documents) }

// isFollowed reports whether a package's functions read for those who call them.
func isFollowed(path string) bool { return path == view || isDocuments(path) }

// checks are files and packages of the readers that only check a configuration.
var checks = []string{"controllers/validation/", "controllers/cri/settings/check", "controllers/k8s/settings/check"}

// Unread returns the keys that no code reads, each as the path of a whole branch. root is the repository's folder.
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

// visit appends the unread keys below a type.
func visit(t reflect.Type, path string, read map[string]bool, readInMain func(key string) bool, out *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return
	}

	for name, field := range strict.Fields(t) {
		at := strict.Join(path, name)

		// owner is the inlined struct that declares the field.
		owner := t
		if n := len(field.Index); n > 1 {
			owner = t.FieldByIndex(field.Index[:n-1]).Type
		}

		if owner.PkgPath() == module+"config/document" {
			continue // the document's identity
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

// fieldsRead returns the fields TYPE.FIELD that the readers select, directly or through a followed function.
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
			case isFollowed(p.PkgPath):
				byFunction(file, p.TypesInfo, functions)
			default:
				read.add(file, p.TypesInfo)
			}
		}
	}

	return read.with(functions), nil
}
