// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// suggest returns the end of an "unknown key" message: the likely key, the place where the key belongs, or
// the known keys.
func (d *decoder) suggest(key string, known map[string]Field) string {
	names := slices.Sorted(maps.Keys(known))

	if question := DidYouMean(key, names); question != "" {
		return "; " + question
	}

	if places := places(d.root, key); len(places) == 1 || len(places) == 2 {
		return fmt.Sprintf("; it belongs under %s", strings.Join(places, " or "))
	}

	const few = 12

	if len(names) > 0 && len(names) <= few {
		return fmt.Sprintf("; known keys: %s", strings.Join(names, ", "))
	}

	return ""
}

// Nearest returns the names closest to key, or none if all are too different.
func Nearest(key string, names []string) []string {
	if len(key) > 64 {
		return nil
	}

	var (
		best  []string
		least = len(key)/3 + 1
	)

	for _, name := range names {
		distance := editDistance(strings.ToLower(key), strings.ToLower(name))

		switch {
		case distance > least || distance >= len(name):
		case distance < least || best == nil:
			best, least = []string{name}, distance
		default:
			best = append(best, name)
		}
	}

	return best
}

// DidYouMean returns a question to append to a message about an unknown name, or "".
func DidYouMean(word string, names []string) string {
	const many = 3

	near := Nearest(word, names)
	if len(near) == 0 || len(near) > many {
		return ""
	}

	for i := range near {
		near[i] = fmt.Sprintf("%q", near[i])
	}

	return fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
}

// editDistance returns the Levenshtein distance: the insertions, deletions and replacements between two words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)

	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1

		for j := range len(b) {
			cost := diagonal

			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}

			diagonal, row[j+1] = row[j+1], cost
		}
	}

	return row[len(b)]
}

// places returns the paths of the structs below root that have the key.
func places(root reflect.Type, key string) []string {
	var out []string

	var walk func(t reflect.Type, path string, above []reflect.Type)

	walk = func(t reflect.Type, path string, above []reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}

		if t.Kind() != reflect.Struct || slices.Contains(above, t) || t.PkgPath() != root.PkgPath() {
			return
		}

		fields := Fields(t)

		if _, ok := fields[key]; ok && path != "" {
			out = append(out, path)
		}

		for _, name := range slices.Sorted(maps.Keys(fields)) {
			walk(fields[name].Type, Join(path, name), append(slices.Clone(above), t))
		}
	}

	walk(root, "", nil)

	return out
}
