// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"reflect"
)

// difference returns the first difference with the name of the field, or nothing.
func difference(path string, was, is reflect.Value) string {
	if was.IsValid() != is.IsValid() || was.IsValid() && was.Type() != is.Type() {
		return changed(path, was, is)
	}

	switch was.Kind() {
	case reflect.Invalid:
		return ""
	case reflect.Pointer, reflect.Interface:
		if was.IsNil() || is.IsNil() {
			return unless(was.IsNil() == is.IsNil(), path, was, is)
		}

		return difference(path, was.Elem(), is.Elem())
	case reflect.Slice, reflect.Array:
		if was.Len() != is.Len() {
			return changed(path, was, is)
		}

		for i := range was.Len() {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), was.Index(i), is.Index(i)); d != "" {
				return d
			}
		}

		return ""
	case reflect.Map:
		return mapDifference(path, was, is)
	case reflect.Struct:
		return structDifference(path, was, is)
	default:
		return unless(was.Equal(is), path, was, is)
	}
}

func mapDifference(path string, was, is reflect.Value) string {
	for it := was.MapRange(); it.Next(); {
		if d := difference(fmt.Sprintf("%s[%v]", path, it.Key()), it.Value(), is.MapIndex(it.Key())); d != "" {
			return d
		}
	}

	for it := is.MapRange(); it.Next(); {
		if !was.MapIndex(it.Key()).IsValid() {
			return changed(fmt.Sprintf("%s[%v]", path, it.Key()), reflect.Value{}, it.Value())
		}
	}

	return ""
}

// structDifference compares the exported fields, which readers can write. A struct without exported fields is compared as a
// whole.
func structDifference(path string, was, is reflect.Value) string {
	exported := false

	for i := range was.NumField() {
		f := was.Type().Field(i)
		if !f.IsExported() {
			continue
		}

		exported = true

		if d := difference(path+"."+f.Name, was.Field(i), is.Field(i)); d != "" {
			return d
		}
	}

	return unless(exported || reflect.DeepEqual(was.Interface(), is.Interface()), path, was, is)
}

func unless(same bool, path string, was, is reflect.Value) string {
	if same {
		return ""
	}

	return changed(path, was, is)
}

func changed(path string, was, is reflect.Value) string {
	return fmt.Sprintf("%s was %s, is %s", path, shown(was), shown(is))
}

func shown(v reflect.Value) string {
	const most = 80

	if !v.IsValid() {
		return "missing"
	}

	text := fmt.Sprintf("%#v", v.Interface())
	if len(text) > most {
		return text[:most] + "…"
	}

	return text
}
