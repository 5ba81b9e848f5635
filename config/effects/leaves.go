// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"reflect"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Leaf is a single value of a configuration.
type Leaf struct {
	// Key is the path of its key, without list indices and without names of map elements.
	Key   string
	Value any

	element bool // of a list or a map
}

// asks reports whether the value requests something. A zero value and a switch that is off do not, unless they are elements.
func (l Leaf) asks() bool { return l.element || !reflect.ValueOf(l.Value).IsZero() }

// Leaves returns the single values of a configuration by their paths. cfg may be nil.
func Leaves(cfg *config.Config) map[string]Leaf {
	out := map[string]Leaf{}

	if cfg == nil {
		return out
	}

	for _, d := range cfg.Documents() {
		leaves(out, d)
	}

	return out
}

// leaves gathers the single values of a document.
func leaves(out map[string]Leaf, d config.Document) {
	if _, main := d.(*v1alpha1.Config); main {
		collect(out, reflect.ValueOf(d), "", Leaf{})
	} else {
		collect(out, reflect.ValueOf(d), document.Path(d), Leaf{Key: d.Kind()})
	}
}

// collect gathers the single values below v.
func collect(out map[string]Leaf, v reflect.Value, path string, at Leaf) {
	set := func(value any) {
		at.Value = value
		out[path] = at
	}

	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			set(nil)

			return
		}

		if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct && v.Elem().IsZero() {
			set(true) // the presence of an empty object is a value
		}

		collect(out, v.Elem(), path, at)
	case reflect.Struct:
		fields := strict.Fields(v.Type())

		if len(fields) == 0 && !v.IsZero() {
			set(v.Interface())
		}

		for name, field := range fields {
			inner := v.FieldByIndex(field.Index)
			if inner.IsZero() {
				continue // absent and zero are the same in a struct
			}

			collect(out, inner, strict.Join(path, name), Leaf{Key: strict.Join(at.Key, name)})
		}
	case reflect.Map:
		if v.Len() == 0 && at.element {
			set(v.Interface())
		}

		for it := v.MapRange(); it.Next(); {
			collect(out, it.Value(), strict.Join(path, it.Key().String()), Leaf{Key: at.Key, element: true})
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() > 0 {
				set(v.Interface())
			}

			return
		}

		for i := range v.Len() {
			collect(out, v.Index(i), fmt.Sprintf("%s[%d]", path, i), Leaf{Key: at.Key, element: true})
		}
	default:
		set(v.Interface())
	}
}
