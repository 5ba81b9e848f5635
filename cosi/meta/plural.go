// SPDX-License-Identifier: Apache-2.0

package meta

import "strings"

// irregular English plurals, by the end of the name, and words that equal their plural. The first match counts.
var irregular = []struct{ plural, singular string }{
	{"children", "child"},
	{"people", "person"},
	{"women", "woman"},
	{"men", "man"},
	{"indices", "index"},
	{"vertices", "vertex"},
	{"matrices", "matrix"},
	{"criteria", "criterion"},
	{"series", "series"},
	{"species", "species"},
	{"leaves", "leaf"},
	{"halves", "half"},
	{"shelves", "shelf"},
	{"movies", "movie"},
	{"cookies", "cookie"},
	{"analyses", "analysis"},
}

// regular plural endings and the endings of the singular. The first match counts; an ending that replaces itself is not a
// plural.
var regular = []struct{ plural, singular string }{
	{"ss", "ss"},
	{"us", "us"},
	{"is", "is"},
	{"eaches", "each"},
	{"oaches", "oach"},
	{"aches", "ache"},
	{"iases", "ias"},
	{"tuses", "tus"},
	{"buses", "bus"},
	{"ruses", "rus"},
	{"puses", "pus"},
	{"sses", "ss"},
	{"shes", "sh"},
	{"ches", "ch"},
	{"xes", "x"},
	{"zzes", "zz"},
	{"roes", "ro"},
	{"toes", "to"},
	{"ies", "y"},
	{"s", ""},
}

// singular returns the singular of a CamelCase name, and reports whether the name was plural. It looks only at endings, which
// is enough for the names of types.
func singular(name string) (string, bool) {
	for _, e := range irregular {
		if hasEnding(name, e.plural) {
			return replaceEnding(name, e.plural, e.singular), true
		}
	}

	for _, e := range regular {
		if hasEnding(name, e.plural) {
			return replaceEnding(name, e.plural, e.singular), e.plural != e.singular && len(name) > 1
		}
	}

	return name, false
}

func hasEnding(name, ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) }

// replaceEnding keeps the case of the letters that both endings begin with.
func replaceEnding(name, from, to string) string {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}

	return name[:len(name)-len(from)+same] + to[same:]
}
