// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// schema is a JSON schema, or a part of one (https://json-schema.org/draft/2020-12).
type schema map[string]any

// Schema returns the JSON schema of one document of any kind, for editors.
func Schema() ([]byte, error) {
	var (
		kinds       []any
		definitions = schema{}
	)

	for _, k := range Kinds() {
		definitions[k.Name] = documentSchema(k)
		kinds = append(kinds, schema{"$ref": "#/$defs/" + k.Name})
	}

	var out bytes.Buffer

	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)

	err := encoder.Encode(schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "A document of a machine configuration",
		"oneOf":   kinds,
		"$defs":   definitions,
	})

	return out.Bytes(), err
}

func documentSchema(k Kind) schema {
	s := structSchema(k.Type)
	s["description"] = k.About

	if properties := s["properties"].(schema); k.Name != v1alpha1.Version {
		properties["apiVersion"] = schema{"const": document.APIVersion}
		properties["kind"] = schema{"const": k.Name}
		s["required"] = append([]string{"apiVersion", "kind"}, required(k.Type)...)
	}

	return s
}

func structSchema(t reflect.Type) schema {
	properties := schema{}

	for _, f := range fieldsOf(t) {
		s := typeSchema(f.field.Type)
		if text := comment(f.owner, f.field.Name); text != "" {
			s["description"] = text
		}

		if least, most, ok := document.Range(f.field.Tag.Get("range")); ok {
			s["minimum"], s["maximum"] = least, most
		}

		properties[f.name] = s
	}

	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if names := required(t); len(names) > 0 {
		s["required"] = names
	}

	return s
}

func required(t reflect.Type) (names []string) {
	for _, f := range fieldsOf(t) {
		if f.field.Tag.Get("required") != "" {
			names = append(names, f.name)
		}
	}

	return names
}

var oneOrMany = reflect.TypeFor[strict.OneOrMany]()

func typeSchema(t reflect.Type) schema {
	if t.Kind() == reflect.Pointer {
		return typeSchema(t.Elem())
	}

	if values, ok := document.EnumValues(t); ok {
		return schema{"enum": values}
	}

	if f, ok := formatOf(t); ok {
		s := schema{"type": []string{"string", "number"}, "examples": []string{f.Example}}
		if f.Pattern != "" {
			s["pattern"] = f.Pattern
		}

		return s
	}

	switch {
	case isText(t):
		return schema{"type": []string{"string", "number"}}
	case t.Implements(oneOrMany):
		return schema{"oneOf": []any{typeSchema(t.Elem()), schema{"type": "array", "items": typeSchema(t.Elem())}}}
	}

	switch t.Kind() {
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Slice:
		return schema{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return schema{"type": "object"}
		}

		return schema{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	case reflect.Interface:
		return schema{}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	default:
		return schema{"type": "integer"}
	}
}
