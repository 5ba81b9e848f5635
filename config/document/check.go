// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
)

// Check reports what is wrong with a document: the limits of its fields, then its own rules.
func Check(d Document) *Report {
	r := NewReport(d)
	r.object(reflect.ValueOf(d).Elem(), "")

	if v, ok := d.(Validator); ok {
		v.Validate(r)
	}

	return r
}

var textType = reflect.TypeFor[encoding.TextMarshaler]()

func (r *Report) object(v reflect.Value, path string) {
	fields := strict.Fields(v.Type())

	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, at := fields[name], strict.Join(path, name)
		value := v.FieldByIndex(field.Index)

		switch {
		case value.IsZero() || empty(value):
			if field.Tag.Get("required") != "" {
				r.Wrong(at, "is missing")
			}
		case field.Tag.Get("range") != "":
			r.limits(value, at, field.Tag.Get("range"))
		default:
			r.value(value, at)
		}
	}
}

// empty reports whether a value is an object or a list without elements: for a required key that is as good as nothing.
func empty(v reflect.Value) bool {
	return (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}

func (r *Report) value(v reflect.Value, path string) {
	if allowed, ok := EnumValues(v.Type()); ok {
		if text := v.String(); text != "" && !slices.Contains(allowed, text) {
			r.Wrong(path, "%q is not known: want one of %s", text, strings.Join(allowed, ", "))
		}

		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem(), path)
		}
	case reflect.Struct:
		if !v.Type().Implements(textType) {
			r.object(v, path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			r.value(it.Value(), strict.Join(path, it.Key().String()))
		}
	}
}

// EnumValues returns the valid values of a type that is an Enum.
func EnumValues(t reflect.Type) (values []string, ok bool) {
	if t.Kind() != reflect.String {
		return nil, false
	}

	e, ok := reflect.Zero(t).Interface().(interface{ Values() []string })
	if !ok {
		return nil, false
	}

	return e.Values(), true
}

// Range reads the limits of a number in the tag of its field, both included.
func Range(tag string) (least, most int64, ok bool) {
	low, high, _ := strings.Cut(tag, ",")

	least, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return 0, 0, false
	}

	most, err = strconv.ParseInt(high, 10, 64)

	return least, most, err == nil
}

func (r *Report) limits(v reflect.Value, path, tag string) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}

	least, most, ok := Range(tag)
	if !ok {
		r.Wrong(path, "the limits %q of its type cannot be read", tag)

		return
	}

	var out bool

	switch {
	case v.CanInt():
		out = v.Int() < least || v.Int() > most
	case v.CanUint():
		out = most < 0 || v.Uint() > uint64(most) || least > 0 && v.Uint() < uint64(least)
	}

	if out {
		r.Wrong(path, "%v is out of range (%d to %d)", v, least, most)
	}
}
