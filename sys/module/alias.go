// SPDX-License-Identifier: Apache-2.0

package module

import (
	"maps"
	"slices"
	"strings"
)

// aliasTable matches a device's modalias against the patterns of all modules. There are thousands of patterns, so they are indexed by their
// literal prefix: only patterns whose prefix begins the modalias are matched.
type aliasTable struct {
	// byPrefix has the patterns by the text before their first wildcard.
	byPrefix map[string][]alias
	// lengths of the prefixes in use, ascending.
	lengths []int
}

type alias struct{ pattern, module string }

func (t *aliasTable) add(pattern, module string) {
	if t.byPrefix == nil {
		t.byPrefix = map[string][]alias{}
	}

	pattern = canonical(pattern)

	prefix := pattern
	if i := strings.IndexAny(pattern, "*?["); i >= 0 {
		prefix = pattern[:i]
	}

	t.byPrefix[prefix] = append(t.byPrefix[prefix], alias{pattern, canonical(module)})
}

func (t *aliasTable) sort() {
	seen := map[int]bool{}
	for prefix := range t.byPrefix {
		seen[len(prefix)] = true
	}

	t.lengths = slices.Sorted(maps.Keys(seen))
}

// match returns the modules with a pattern that matches the whole of s, in a stable order, each once.
func (t *aliasTable) match(s string) []string {
	var out []string

	for _, n := range t.lengths {
		if n > len(s) {
			break
		}

		for _, a := range t.byPrefix[s[:n]] {
			if !slices.Contains(out, a.module) && glob(a.pattern[n:], s[n:]) {
				out = append(out, a.module)
			}
		}
	}

	slices.Sort(out)

	return out
}

// glob is fnmatch without flags: unlike path.Match, a star also matches slashes, and a malformed bracket
// matches nothing.
func glob(pattern, s string) bool {
	// star is where to resume in the pattern after the last star, mark where that star's match ends in s.
	star, mark := -1, 0
	p, i := 0, 0

	for i < len(s) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				star, mark = p+1, i
				p++

				continue
			}

			if n, ok := matchOne(pattern[p:], s[i]); ok {
				p += n
				i++

				continue
			}
		}

		if star < 0 {
			return false
		}

		mark++
		p, i = star, mark
	}

	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches one byte against the first element of a pattern and returns the element's length.
func matchOne(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		end := strings.IndexByte(pattern[1:], ']')
		if end < 1 {
			return 0, false
		}

		return end + 2, inBracket(pattern[1:end+1], c)
	default:
		return 1, pattern[0] == c
	}
}

func inBracket(set string, c byte) bool {
	negate := set[0] == '!' || set[0] == '^'
	if negate {
		set = set[1:]
	}

	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return !negate
			}

			i += 2

			continue
		}

		if set[i] == c {
			return !negate
		}
	}

	return negate
}
