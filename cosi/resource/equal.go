// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"math"
	"reflect"
	"sync"
	"time"
)

// Specs are equal if they have the same encoding. Differences that neither YAML nor protobuf encodes do not count: nil and an
// empty list or map, the location of a time, the type of a number in an any. Otherwise a spec would differ from itself after
// it was written to a disk or sent over a wire.

type equality func(a, b reflect.Value) bool

var equalities sync.Map // reflect.Type -> equality

func equalityOf(t reflect.Type) equality {
	if eq, ok := equalities.Load(t); ok {
		return eq.(equality) // only these are stored
	}

	eq := equalityBuilder{}.build(t)
	equalities.Store(t, eq)

	return eq
}

// equalityBuilder has the functions being built, because a type may contain itself.
type equalityBuilder map[reflect.Type]*equality

func (b equalityBuilder) build(t reflect.Type) equality {
	if known, ok := b[t]; ok {
		return func(x, y reflect.Value) bool { return (*known)(x, y) }
	}

	eq := new(equality)
	b[t] = eq
	*eq = b.make(t)

	return *eq
}

func (b equalityBuilder) make(t reflect.Type) equality {
	if eq := ownEquality(t); eq != nil {
		return eq
	}

	switch t.Kind() { // other kinds are compared as Go does
	case reflect.Bool:
		return func(x, y reflect.Value) bool { return x.Bool() == y.Bool() }
	case reflect.String:
		return func(x, y reflect.Value) bool { return x.String() == y.String() }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(x, y reflect.Value) bool { return x.Int() == y.Int() }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(x, y reflect.Value) bool { return x.Uint() == y.Uint() }
	case reflect.Float32, reflect.Float64:
		return func(x, y reflect.Value) bool { return sameFloat(x.Float(), y.Float()) }
	case reflect.Pointer:
		return equalPointers(b.build(t.Elem()))
	case reflect.Slice, reflect.Array:
		return equalLists(b.build(t.Elem()), t.Kind() == reflect.Slice)
	case reflect.Map:
		return equalMaps(b.build(t.Elem()))
	case reflect.Interface:
		return equalDynamic
	case reflect.Struct:
		return b.makeStruct(t)
	default:
		return func(x, y reflect.Value) bool { return x.Equal(y) }
	}
}

// ownEquality returns the Equal method of the type, nil if there is none that can be called.
func ownEquality(t reflect.Type) equality {
	if t == reflect.TypeFor[time.Time]() {
		return func(x, y reflect.Value) bool {
			return x.Interface().(time.Time).Equal(y.Interface().(time.Time))
		}
	}

	m, ok := t.MethodByName("Equal")
	if !ok || t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer ||
		m.Type.NumIn() != 2 || m.Type.In(1) != t || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Bool {
		return nil
	}

	return func(x, y reflect.Value) bool { return x.MethodByName("Equal").Call([]reflect.Value{y})[0].Bool() }
}

// makeStruct compares the exported fields. A struct with only unexported fields is compared as Go does.
func (b equalityBuilder) makeStruct(t reflect.Type) equality {
	type field struct {
		index int
		equal equality
	}

	var fields []field

	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, field{i, b.build(f.Type)})
		}
	}

	switch {
	case len(fields) > 0 || t.NumField() == 0:
	case t.Comparable():
		return func(x, y reflect.Value) bool { return x.Equal(y) }
	default:
		return func(x, y reflect.Value) bool { return reflect.DeepEqual(x.Interface(), y.Interface()) }
	}

	return func(x, y reflect.Value) bool {
		for i := range fields {
			if f := &fields[i]; !f.equal(x.Field(f.index), y.Field(f.index)) {
				return false
			}
		}

		return true
	}
}

func equalPointers(elem equality) equality {
	return func(x, y reflect.Value) bool {
		if x.IsNil() || y.IsNil() {
			return x.IsNil() == y.IsNil()
		}

		return x.UnsafePointer() == y.UnsafePointer() || elem(x.Elem(), y.Elem())
	}
}

func equalLists(elem equality, slice bool) equality {
	return func(x, y reflect.Value) bool {
		if x.Len() != y.Len() {
			return false
		}

		if slice && x.UnsafePointer() == y.UnsafePointer() {
			return true
		}

		for i := range x.Len() {
			if !elem(x.Index(i), y.Index(i)) {
				return false
			}
		}

		return true
	}
}

func equalMaps(elem equality) equality {
	return func(x, y reflect.Value) bool {
		if x.Len() != y.Len() {
			return false
		}

		for it := x.MapRange(); it.Next(); {
			other := y.MapIndex(it.Key())
			if !other.IsValid() || !elem(it.Value(), other) {
				return false
			}
		}

		return true
	}
}

// equalDynamic compares values of any type. Numbers are compared by value, because all of them are encoded as floats.
func equalDynamic(x, y reflect.Value) bool {
	if x.IsNil() || y.IsNil() {
		return x.IsNil() == y.IsNil()
	}

	x, y = x.Elem(), y.Elem()

	if x.Type() == y.Type() {
		return equalityOf(x.Type())(x, y)
	}

	if a, ok := number(x); ok {
		b, ok := number(y)

		return ok && sameFloat(a, b)
	}

	switch {
	case x.Kind() == reflect.String && y.Kind() == reflect.String:
		return x.String() == y.String()
	case x.Kind() == reflect.Slice && y.Kind() == reflect.Slice:
		return equalLists(func(a, b reflect.Value) bool { return equalDynamic(boxed(a), boxed(b)) }, false)(x, y)
	case x.Kind() == reflect.Map && y.Kind() == reflect.Map && x.Type().Key() == y.Type().Key():
		return equalMaps(func(a, b reflect.Value) bool { return equalDynamic(boxed(a), boxed(b)) })(x, y)
	default:
		return false
	}
}

// boxed returns the value as a value of type any.
func boxed(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v
	}

	box := reflect.New(reflect.TypeFor[any]()).Elem()
	box.Set(v)

	return box
}

func number(v reflect.Value) (float64, bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	default:
		return 0, false
	}
}

func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
