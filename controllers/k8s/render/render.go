// SPDX-License-Identifier: Apache-2.0

// Package render fills embedded YAML templates of Kubernetes objects with values.
//
// A template is plain YAML. A scalar that is just ${name} becomes the value, of any type. ${name} inside a longer text is replaced by the
// value's text. The value Omit removes the map entry or list element.
//
// The template is parsed before it is filled, so a value cannot change the structure. This is why text/template was rejected; it would also
// add a megabyte to the program.
package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Object is one Kubernetes object.
type Object = map[string]any

// Values fill the templates.
type Values map[string]any

type omit struct{}

// Omit is the value that removes the map entry or list element that it is used for.
var Omit any = omit{}

// Parse reads every document of a YAML text; empty documents are skipped. Keys must be strings, as in JSON.
func Parse(text []byte) ([]Object, error) {
	decoder, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("YAML: %w", err)
	}

	var out []Object

	for n := 1; ; n++ {
		var object any

		err := decoder.Load(&object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}

		if err != nil {
			return nil, fmt.Errorf("YAML document %d: %w", n, err)
		}

		if object == nil {
			continue
		}

		typed, ok := object.(Object)
		if !ok {
			return nil, fmt.Errorf("YAML document %d: want an object, got %T", n, object)
		}

		if err := jsonShaped(typed, ""); err != nil {
			return nil, fmt.Errorf("YAML document %d: %w", n, err)
		}

		out = append(out, typed)
	}
}

// Fill renders the documents of a template that Parse has read. It does not change them, and the results share nothing with them.
func Fill(template []Object, values Values) ([]Object, error) {
	var out []Object

	for i, object := range template {
		filled, err := fill(object, values)
		if err != nil {
			return nil, fmt.Errorf("template document %d: %w", i+1, err)
		}

		out = append(out, filled.(Object)) // fill returns a map for a map
	}

	return out, nil
}

func fill(v any, values Values) (any, error) {
	switch v := v.(type) {
	case string:
		return fillText(v, values)
	case Object:
		out := make(Object, len(v))

		for key, item := range v {
			filled, err := fill(item, values)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}

			if filled != Omit {
				out[key] = filled
			}
		}

		return out, nil
	case []any:
		out := make([]any, 0, len(v))

		for i, item := range v {
			filled, err := fill(item, values)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}

			if filled != Omit {
				out = append(out, filled)
			}
		}

		return out, nil
	default:
		return v, nil
	}
}

func fillText(text string, values Values) (any, error) {
	before, rest, found := strings.Cut(text, "${")
	if !found {
		return text, nil
	}

	name, after, closed := strings.Cut(rest, "}")
	if !closed {
		return nil, fmt.Errorf("%q: ${ without }", text)
	}

	value, ok := values[name]
	if !ok {
		return nil, fmt.Errorf("no value for ${%s}", name)
	}

	if before == "" && after == "" {
		return value, nil
	}

	tail, err := fillText(after, values)
	if err != nil {
		return nil, err
	}

	return before + fmt.Sprint(value) + fmt.Sprint(tail), nil
}

// jsonShaped checks that a value can be encoded as JSON.
func jsonShaped(v any, path string) error {
	switch v := v.(type) {
	case nil, string, bool, int, int64, uint64, float64:
		return nil
	case Object:
		for key, item := range v {
			if err := jsonShaped(item, path+"."+key); err != nil {
				return err
			}
		}

		return nil
	case []any:
		for i, item := range v {
			if err := jsonShaped(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}

		return nil
	default:
		return fmt.Errorf("%s: a %T cannot be encoded as JSON", path, v)
	}
}
