// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// remove removes the field of an object at a path, as the API server writes paths in conflicts: .spec.containers[name="a"].image,
// .metadata.finalizers["b"], .args[0]. It reports whether there was such a field. Names of fields are not quoted and may have dots, so the path
// is matched with the object's own fields.
func remove(object map[string]any, path string) bool {
	rest, ok := strings.CutPrefix(path, ".")
	if !ok {
		return false
	}

	for key, value := range object {
		after, ok := strings.CutPrefix(rest, key)
		if !ok {
			continue
		}

		if after == "" {
			delete(object, key)

			return true
		}

		switch inner := value.(type) {
		case map[string]any:
			if remove(inner, after) {
				return true
			}
		case []any:
			if shorter, ok := removeItem(inner, after); ok {
				object[key] = shorter

				return true
			}
		}
	}

	return false
}

// removeItem removes the item or field at a path from a list, and returns the list.
func removeItem(list []any, path string) ([]any, bool) {
	matches, after, ok := selector(path)
	if !ok {
		return list, false
	}

	i := -1
	for at, item := range list {
		if matches(at, item) {
			i = at

			break
		}
	}

	if i < 0 {
		return list, false
	}

	if after == "" {
		return slices.Delete(slices.Clone(list), i, i+1), true
	}

	switch inner := list[i].(type) {
	case map[string]any:
		return list, remove(inner, after)
	case []any:
		shorter, ok := removeItem(inner, after)
		list[i] = shorter

		return list, ok
	default:
		return list, false
	}
}

// selector parses [name="a",port=1], [="b"], ["b"] or [0] at the beginning of a path, and returns what comes after it.
func selector(path string) (matches func(i int, item any) bool, after string, ok bool) {
	rest, ok := strings.CutPrefix(path, "[")
	if !ok {
		return nil, "", false
	}

	if digits, after, ok := strings.Cut(rest, "]"); ok {
		if index, err := strconv.Atoi(digits); err == nil {
			return func(i int, _ any) bool { return i == index }, after, true
		}
	}

	keys := map[string]any{}

	for {
		name, tail := "", rest
		if !strings.HasPrefix(rest, `"`) {
			if name, tail, ok = strings.Cut(rest, "="); !ok {
				return nil, "", false
			}
		}

		decoder := json.NewDecoder(strings.NewReader(tail))

		var value any
		if decoder.Decode(&value) != nil {
			return nil, "", false
		}

		keys[name] = value
		rest = tail[decoder.InputOffset():]

		if after, ok := strings.CutPrefix(rest, "]"); ok {
			return func(_ int, item any) bool { return hasKeys(item, keys) }, after, true
		}

		if rest, ok = strings.CutPrefix(rest, ","); !ok {
			return nil, "", false
		}
	}
}

// hasKeys reports whether an item has these values in these fields; "" is the item itself.
func hasKeys(item any, keys map[string]any) bool {
	for name, want := range keys {
		got := item
		if name != "" {
			object, _ := item.(map[string]any)
			if got = object[name]; got == nil {
				continue // the key is a default, as a port's protocol is
			}
		}

		if !reflect.DeepEqual(number(got), number(want)) {
			return false
		}
	}

	return true
}

// number converts all numbers to one type: YAML decodes them to other types than JSON.
func number(value any) any {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(v.Uint())
	default:
		return value
	}
}

// clone returns a deep copy of an object.
func clone(object map[string]any) (out map[string]any, err error) {
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}

	return out, err
}
