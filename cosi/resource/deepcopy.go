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

func deepCopy(v reflect.Value) reflect.Value {
	if isFlat(v.Type()) {
		return v
	}

	out := reflect.New(v.Type()).Elem()

	switch v.Kind() { //nolint:exhaustive // flat kinds returned above
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))

			if isFlat(v.Type().Elem()) {
				reflect.Copy(out, v)
			} else {
				for i := range v.Len() {
					out.Index(i).Set(deepCopy(v.Index(i)))
				}
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(deepCopy(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))

			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), deepCopy(it.Value()))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(deepCopy(v.Field(i)))
		}
	default:
		out.Set(v)
	}

	return out
}
