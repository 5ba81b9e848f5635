// SPDX-License-Identifier: Apache-2.0

package document

import (
	"reflect"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
)

// Protected reports whether a key of a document protects the machine, or one above or below it does. The path begins with the kind
// and has no list indices.
func Protected(d Document, path string) bool {
	_, path, _ = strings.Cut(path, ".")

	return protected(reflect.TypeOf(d).Elem(), path)
}

func protected(t reflect.Type, path string) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return false
	}

	name, rest, _ := strings.Cut(path, ".")

	for key, field := range strict.Fields(t) {
		if name == "" || key == name {
			if field.Tag.Get("protects") != "" || protected(field.Type, rest) {
				return true
			}
		}
	}

	return false
}
