// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flat returns the values of nested objects as lines of "name.name: value".
func flat(prefix string, v any) []string {
	var out []string

	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, flat(join(prefix, name), v[name])...)
		}
	case []object:
		for i, below := range v {
			out = append(out, flat(join(prefix, fmt.Sprint(i)), below)...)
		}
	case []string:
		if len(v) > 0 {
			out = append(out, prefix+": "+strings.Join(v, ", "))
		}
	default:
		out = append(out, fmt.Sprintf("%s: %v", prefix, v))
	}

	return out
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}

	return prefix + "." + name
}

// dirIs reports whether a path is a folder or in it.
func dirIs(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
