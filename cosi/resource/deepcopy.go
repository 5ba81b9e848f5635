// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"reflect"
	"sync"
)

// flat caches, by type, whether a plain assignment already is a deep copy.
var flat sync.Map // reflect.Type -> bool

func isFlat(t reflect.Type) bool {
	if f, ok := flat.Load(t); ok {
		return f.(bool) //nolint:forcetypeassert // only bools are stored
	}

	f := computeFlat(t)
	flat.Store(t, f)

	return f
}

func computeFlat(t reflect.Type) bool {
	switch t.Kind() { //nolint:exhaustive // the rest are plain values
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return false
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				return true // an opaque value: copied by assignment
			}
		}

		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
	}

	return true
}

// deepen replaces whatever v, a settable shallow copy, shares with its original.
func deepen(v reflect.Value) {
	if isFlat(v.Type()) {
		return
	}

	switch v.Kind() { //nolint:exhaustive // flat kinds returned above
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			deepen(p.Elem())
			v.Set(p)
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(s, v)
			v.Set(s)

			if !isFlat(v.Type().Elem()) {
				for i := range v.Len() {
					deepen(v.Index(i))
				}
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			deepen(v.Index(i))
		}
	case reflect.Map:
		if !v.IsNil() {
			m := reflect.MakeMapWithSize(v.Type(), v.Len())
			for it := v.MapRange(); it.Next(); {
				m.SetMapIndex(it.Key(), deepCopy(it.Value()))
			}

			v.Set(m)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	}
}

// deepCopy copies a value that can not be set in place: an element of a map or interface.
func deepCopy(v reflect.Value) reflect.Value {
	if isFlat(v.Type()) {
		return v
	}

	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	deepen(out)

	return out
}
