// SPDX-License-Identifier: Apache-2.0

package house

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// folders returns which top-level folders import which others, outside tests.
func folders(all []goPackage) map[string]map[string]bool {
	imports := map[string]map[string]bool{}

	for _, p := range all {
		from := part(p.ImportPath)
		if imports[from] == nil {
			imports[from] = map[string]bool{}
		}

		for _, i := range p.Imports {
			if to := part(i); strings.HasPrefix(i, module) && to != from {
				imports[from][to] = true
			}
		}
	}

	return imports
}

// cycle returns folders that import each other in a cycle, or nil if there is none.
func cycle(imports map[string]map[string]bool) []string {
	done := map[string]bool{}

	var visit func(path []string, at string) []string

	visit = func(path []string, at string) []string {
		if i := slices.Index(path, at); i >= 0 {
			return path[i:]
		}

		if done[at] {
			return nil
		}

		for _, next := range slices.Sorted(maps.Keys(imports[at])) {
			if found := visit(append(slices.Clone(path), at), next); found != nil {
				return found
			}
		}

		done[at] = true

		return nil
	}

	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if found := visit(nil, from); found != nil {
			return found
		}
	}

	return nil
}

// TestFoldersHaveAnOrder rejects a cycle of imports between top-level folders. Without cycles the folders have an order, and every
// import points down.
func TestFoldersHaveAnOrder(t *testing.T) {
	if found := cycle(folders(allPackages(t))); found != nil {
		t.Errorf("cycle of imports: %s → %s", strings.Join(found, " → "), found[0])
	}
}

func TestCycle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edges string
		want  string
	}{
		{"none", "a:b a:c b:c", ""},
		{"two", "a:b b:a", "a b"},
		{"behind a start", "a:b b:c c:d d:b", "b c d"},
		{"of one that has been visited", "a:b c:b c:d d:c", "c d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			imports := map[string]map[string]bool{}

			for edge := range strings.FieldsSeq(tt.edges) {
				from, to, _ := strings.Cut(edge, ":")
				if imports[from] == nil {
					imports[from] = map[string]bool{}
				}

				imports[from][to] = true
			}

			if got := strings.Join(cycle(imports), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
