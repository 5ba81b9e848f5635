// SPDX-License-Identifier: Apache-2.0

package effects

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Warnings names what the configuration asks for and this version does not do yet, one line each.
func Warnings(cfg *config.Config) []string {
	var out []string

	for _, path := range InVain(cfg) {
		out = append(out, fmt.Sprintf("%s: it is kept but has no effect in this version", path))
	}

	return out
}

// InVain lists the branches that the configuration sets and that have no effect yet.
func InVain(cfg *config.Config) []string {
	var out []string

	for _, d := range cfg.Documents() {
		out = append(out, Unread(d)...)
	}

	slices.Sort(out)

	return slices.Compact(out)
}

// Unread lists the branches that a document sets and that have no effect yet.
func Unread(d config.Document) []string {
	var (
		out  []string
		root string
	)

	if _, main := d.(*v1alpha1.Config); !main {
		root = d.Kind()
	}

	visit(reflect.ValueOf(d), root, func(path string) {
		if row, effective := Lookup(path); !effective && !slices.Contains(out, row) {
			out = append(out, row)
		}
	})

	return out
}

//go:generate go run ../../cmd/generate/effects

// unread has the branches of keys that no code reads; see package derive.
//
//go:embed unread.txt
var unread string

// rows are the branches that have no effect.
var rows = sync.OnceValue(func() []string {
	var out []string

	for _, row := range strings.Fields(unread) {
		if !slices.ContainsFunc(settled, func(e exception) bool { return covers(e.path, row) }) {
			out = append(out, row)
		}
	}

	for _, e := range without {
		out = append(out, e.path)
	}

	return out
})

// Lookup tells whether a path (which has no list indices) is in effect, and if not, the branch that is not.
func Lookup(path string) (row string, effective bool) {
	for _, row := range rows() {
		if covers(row, path) {
			return row, false
		}
	}

	return path, true
}

func covers(row, path string) bool {
	return strings.HasPrefix(path, row) && (len(path) == len(row) || path[len(row)] == '.')
}

// visit calls found with the path of every key that asks for something. Zero values, empty objects and
// switches turned off ask for nothing: what they want is so already.
func visit(v reflect.Value, path string, found func(path string)) {
	if v.IsZero() || strings.HasSuffix(path, ".disabled") {
		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().Kind() == reflect.Struct && v.Elem().IsZero() {
			found(path) // an empty object whose presence says something
		}

		visit(v.Elem(), path, found)
	case reflect.Slice:
		if elem := v.Type().Elem().Kind(); elem != reflect.Struct {
			if v.Len() > 0 {
				found(path)
			}

			return
		}

		for i := range v.Len() {
			visit(v.Index(i), path, found)
		}
	case reflect.Struct:
		fields := strict.Fields(v.Type())

		if len(fields) == 0 { // a value in a single scalar
			found(path)
		}

		for name, field := range fields {
			visit(v.FieldByIndex(field.Index), strict.Join(path, name), found)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Struct {
			if v.Len() > 0 {
				found(path)
			}

			return
		}

		for it := v.MapRange(); it.Next(); {
			visit(it.Value(), path, found)
		}
	default:
		found(path)
	}
}
