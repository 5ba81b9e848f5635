// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// key is a key of a struct type.
type key struct {
	in   reflect.Type
	name string
}

// allKeys returns the keys of a type and of all types below.
func allKeys(t reflect.Type, out map[key]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		allKeys(t.Elem(), out)
	case reflect.Struct:
		for name, field := range strict.Fields(t) {
			out[key{t, name}] = true
			allKeys(field.Type, out)
		}
	}
}

// removeSet removes the keys that v sets.
func removeSet(v reflect.Value, out map[key]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			removeSet(v.Elem(), out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			removeSet(v.Index(i), out)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			removeSet(it.Value(), out)
		}
	case reflect.Struct:
		for name, field := range strict.Fields(v.Type()) {
			if inner := v.FieldByIndex(field.Index); !inner.IsZero() {
				delete(out, key{v.Type(), name})
				removeSet(inner, out)
			}
		}
	}
}

func TestEveryKey(t *testing.T) {
	cfg, err := config.Decode([]byte(v1alpha1.Example))
	if err != nil {
		t.Fatal(err)
	}

	missing := map[key]bool{}
	allKeys(reflect.TypeFor[v1alpha1.Config](), missing)
	removeSet(reflect.ValueOf(config.Find[*v1alpha1.Config](cfg)), missing)

	for k := range missing {
		t.Errorf("%s of %s is not in the text", k.name, k.in)
	}

	encoded, err := config.Encode(cfg.Documents()...)
	if err != nil {
		t.Fatal(err)
	}

	again, err := config.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(config.Find[*v1alpha1.Config](cfg), config.Find[*v1alpha1.Config](again), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("encoded and read back (-want +got):\n%s", diff)
	}
}

func TestURL(t *testing.T) {
	for _, test := range []struct {
		text string
		ok   bool
	}{
		{"https://10.5.0.2:6443", true},
		{"https://[2001:db8::1]:6443", true},
		{"https://api.example", true},
		{"", false},
		{"10.5.0.2:6443", false},
		{"https://", false},
		{"https://a:0", false},
		{"https://a:x", false},
		{"https://a:70000", false},
		{"/path", false},
	} {
		if _, err := v1alpha1.ParseURL(test.text); (err == nil) != test.ok {
			t.Errorf("%q: got %v, want ok %t", test.text, err, test.ok)
		}
	}
}
