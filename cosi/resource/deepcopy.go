// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"reflect"
	"sync"
)

// copying is the way to copy a type deeply.
type copying uint8

const (
	byAssignment copying = iota + 1
	byParts
	byMethod // DeepCopy
)

var copyings sync.Map // reflect.Type -> copying

func copyingOf(t reflect.Type) copying {
	if c, ok := copyings.Load(t); ok {
		return c.(copying) // only these are stored
	}

	c := computeCopying(t)
	copyings.Store(t, c)

	return c
}

func isFlat(t reflect.Type) bool { return copyingOf(t) == byAssignment }

// computeCopying looks only at exported fields: an unexported field is copied by assignment (see checkCopy).
func computeCopying(t reflect.Type) copying {
	if copiesItself(t) {
		return byMethod
	}

	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return byParts
	case reflect.Array:
		if !isFlat(t.Elem()) {
			return byParts
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !isFlat(f.Type) {
				return byParts
			}
		}
	}

	return byAssignment
}

// copiesItself reports whether the type has a method DeepCopy that returns the type.
func copiesItself(t reflect.Type) bool {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false
	}

	m, ok := reflect.PointerTo(t).MethodByName("DeepCopy")

	return ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0) == t
}

// deepen replaces all memory that v, a settable shallow copy, shares with its original.
func deepen(v reflect.Value) {
	switch copyingOf(v.Type()) {
	case byAssignment:
		return
	case byMethod:
		v.Set(v.Addr().MethodByName("DeepCopy").Call(nil)[0])

		return
	}

	switch v.Kind() { // flat kinds returned above
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
			if f := v.Field(i); f.CanSet() {
				deepen(f)
			}
		}
	}
}

// deepCopy copies a value that cannot be set in place: an element of a map or interface.
func deepCopy(v reflect.Value) reflect.Value {
	if isFlat(v.Type()) {
		return v
	}

	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	deepen(out)

	return out
}

// checkCopy refuses a type whose copies would share memory: one with an unexported field that refers to other memory, in a
// struct that is not known to be immutable and does not copy itself.
func checkCopy(t reflect.Type) error { return copyCheck{}.check(t) }

// copyCheck has the types that have been checked.
type copyCheck map[reflect.Type]bool

func (c copyCheck) check(t reflect.Type) error {
	if c[t] || copiesItself(t) || immutable(t) {
		return nil
	}

	c[t] = true

	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Array:
		return c.check(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)

			if !f.IsExported() && refers(f.Type) {
				return fmt.Errorf("field %s of %s is not exported and refers to other memory: copies would share it; give %s a method DeepCopy() %s",
					f.Name, t, t, t.Name())
			}

			if f.IsExported() {
				if err := c.check(f.Type); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// immutable reports whether the type is one of the standard library that refers to other memory and never changes it.
func immutable(t reflect.Type) bool {
	switch t.PkgPath() {
	case "time", "net/netip", "unique":
		return true
	default:
		return false
	}
}

// refers reports whether a value of the type has a reference to memory that can change.
func refers(t reflect.Type) bool {
	if immutable(t) {
		return false
	}

	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Chan, reflect.UnsafePointer:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
	}

	return false
}
