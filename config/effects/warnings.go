// SPDX-License-Identifier: Apache-2.0

package effects

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Warnings returns one line for each branch of the configuration that has no effect yet.
func Warnings(cfg *config.Config) []string {
	var out []string

	for _, path := range InVain(cfg) {
		out = append(out, fmt.Sprintf("%s: accepted, but has no effect in this version", path))
	}

	return out
}

// InVain returns the branches that the configuration sets and that have no effect yet. A switch that turns a feature off is not
// listed: the feature is off anyway.
func InVain(cfg *config.Config) []string {
	found := map[string]bool{}

	for _, d := range cfg.Documents() {
		for _, row := range Unread(d) {
			found[Path(d, row)] = true
		}
	}

	return slices.Sorted(maps.Keys(found))
}

// Unread returns the branches that a document sets and that have no effect yet.
func Unread(d config.Document) (rows []string) {
	all := map[string]Leaf{}
	leaves(all, d)

	for _, leaf := range all {
		row, effective := Lookup(leaf.Key)
		if !effective && leaf.asks() && !strings.HasSuffix(leaf.Key, ".disabled") && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}

	return rows
}

// Path returns the path of a branch that Unread returned, with the document's name.
func Path(d config.Document, row string) string {
	if _, main := d.(*v1alpha1.Config); main {
		return row
	}

	return document.Path(d) + strings.TrimPrefix(row, d.Kind())
}

//go:generate go run ../../cmd/generate/effects

// unread lists the branches of keys that no code reads; see package derive.
//
//go:embed unread.txt
var unread string

// rows are the branches that have no effect.
var rows = sync.OnceValue(func() []string {
	var out []string

	for _, row := range strings.Fields(unread) {
		if !slices.ContainsFunc(settled, func(e exception) bool { return covers(e.path, row) }) {
			out = append(out, row)
		}
	}

	for _, e := range without {
		out = append(out, e.path)
	}

	return out
})

// Lookup reports whether a path, which has no list indices, has an effect. If not, row is the branch that has none.
func Lookup(path string) (row string, effective bool) {
	for _, row := range rows() {
		if covers(row, path) {
			return row, false
		}
	}

	return path, true
}

func covers(row, path string) bool {
	return strings.HasPrefix(path, row) && (len(path) == len(row) || path[len(row)] == '.')
}
