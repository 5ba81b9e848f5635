// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"reflect"

	"github.com/seed-59268b81/talos/config/strict"
)

// collect gathers the single values below v.
func collect(out map[string]leaf, v reflect.Value, path, key string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			out[path] = leaf{key, nil}

			return
		}

		if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct && v.Elem().IsZero() {
			out[path] = leaf{key, true} // an empty object whose presence says something
		}

		collect(out, v.Elem(), path, key)
	case reflect.Struct:
		fields := strict.Fields(v.Type())

		if len(fields) == 0 && !v.IsZero() {
			out[path] = leaf{key, v.Interface()}
		}

		for name, field := range fields {
			inner := v.FieldByIndex(field.Index)
			if inner.IsZero() {
				continue // absent and zero are the same in a struct
			}

			collect(out, inner, strict.Join(path, name), strict.Join(key, name))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			name := it.Key().String()
			collect(out, it.Value(), strict.Join(path, name), key)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.Len() > 0 {
				out[path] = leaf{key, v.Interface()}
			}

			return
		}

		for i := range v.Len() {
			collect(out, v.Index(i), fmt.Sprintf("%s[%d]", path, i), key)
		}
	default:
		out[path] = leaf{key, v.Interface()}
	}
}
