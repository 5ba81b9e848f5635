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

// Replacer is a document whose contents decide which keys of the v1alpha1 document it replaces.
type Replacer interface {
	Replaces() []string
}

// Replaced returns the keys of the v1alpha1 document that documents of the kind say the same as. A configuration has the one or the other.
func (k Kind) Replaced() []string { return k.replaced(reflect.Value{}) }

// ReplacedBy returns the keys of Replaced that a document of the kind says. An object that the document does not have replaces none: a
// ResolverConfig without hostDNS leaves machine.features.hostDNS alone.
func (k Kind) ReplacedBy(d Document) []string {
	if r, ok := d.(Replacer); ok {
		return r.Replaces()
	}

	return k.replaced(reflect.ValueOf(d).Elem())
}

func (k Kind) replaced(d reflect.Value) []string {
	keys := slices.Clone(k.Replaces)

	for _, field := range strict.Fields(reflect.TypeOf(k.New()).Elem()) {
		if d.IsValid() && hasEquivalents(field.Type) && d.FieldByIndex(field.Index).IsZero() {
			continue
		}

		keys = append(keys, Equivalent(field.Tag)...)
		keys = appendEquivalents(keys, field.Type)
	}

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

func hasEquivalents(t reflect.Type) bool { return len(appendEquivalents(nil, t)) > 0 }

// appendEquivalents appends the keys of the v1alpha1 document that the fields below a type say the same as.
func appendEquivalents(keys []string, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}

	if t.Kind() != reflect.Struct {
		return keys
	}

	for _, field := range strict.Fields(t) {
		keys = append(keys, Equivalent(field.Tag)...)
		keys = appendEquivalents(keys, field.Type)
	}

	return keys
}
