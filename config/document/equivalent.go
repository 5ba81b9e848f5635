// SPDX-License-Identifier: Apache-2.0

package document

import (
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
)

// Equivalent returns the keys of the v1alpha1 document that a field says the same as, from its tags: see package overlay.
func Equivalent(tag reflect.StructTag) []string {
	text := tag.Get("maps")
	if text == "" {
		text = tag.Get("like")
	}

	if text == "" {
		return nil
	}

	return strings.Split(strings.TrimPrefix(text, "!"), ",")
}

// Replaced returns the keys of the v1alpha1 document that documents of the kind say the same as. A configuration has the one or the other.
func (k Kind) Replaced() []string {
	keys := slices.Clone(k.Replaces)

	var visit func(t reflect.Type)

	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}

		if t.Kind() != reflect.Struct {
			return
		}

		for _, field := range strict.Fields(t) {
			keys = append(keys, Equivalent(field.Tag)...)
			visit(field.Type)
		}
	}

	visit(reflect.TypeOf(k.New()).Elem())
	slices.Sort(keys)

	// A key says what those below it do.
	var out []string

	for _, key := range slices.Compact(keys) {
		if len(out) == 0 || !strings.HasPrefix(key, out[len(out)-1]+".") {
			out = append(out, key)
		}
	}

	return out
}
