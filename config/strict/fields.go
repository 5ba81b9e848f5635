// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"reflect"
	"strings"
	"sync"
)

// Field is a key of a struct.
type Field struct {
	Index []int
	Type  reflect.Type
	Tag   reflect.StructTag
}

var fieldCache sync.Map // reflect.Type -> map[string]Field

// Fields returns the keys of a struct by their names in YAML.
func Fields(t reflect.Type) map[string]Field {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(map[string]Field)
	}

	out := map[string]Field{}

	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")

		switch {
		case options == "inline":
			for inner, field := range Fields(f.Type) {
				field.Index = append([]int{i}, field.Index...)
				out[inner] = field
			}
		case f.IsExported() && name != "" && name != "-":
			out[name] = Field{Index: []int{i}, Type: f.Type, Tag: f.Tag}
		}
	}

	fieldCache.Store(t, out)

	return out
}

// Join appends a key to a path. A key with special characters is quoted in brackets.
func Join(path, key string) string {
	for _, r := range key {
		if r != '_' && r != '-' && r != '$' && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return path + "[" + quote(key) + "]"
		}
	}

	switch {
	case key == "":
		return path + `[""]`
	case path == "":
		return key
	default:
		return path + "." + key
	}
}
