// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// labelIndex holds the cells by label key and value, for the keys that somebody has asked for. It belongs to the
// holder of the kind's lock.
type labelIndex map[string]map[string]map[*cell]struct{}

// minIndexed is how many resources make an index worth its memory.
const minIndexed = 64

// indexable returns the first term of a query that an index answers.
func indexable(q resource.LabelQuery) (resource.LabelTerm, bool) {
	for _, t := range q.Terms {
		if t.Invert {
			continue
		}

		if t.Op == resource.LabelExists || len(t.Values) > 0 && (t.Op == resource.LabelEqual || t.Op == resource.LabelIn) {
			return t, true
		}
	}

	return resource.LabelTerm{}, false
}

// listByLabel lists by the index, if it can answer all the queries.
func (k *kind) listByLabel(f filter) (items []resource.Resource, answered bool) {
	terms := make([]resource.LabelTerm, 0, len(f.labels))

	for _, q := range f.labels {
		t, ok := indexable(q)
		if !ok {
			return nil, false
		}

		terms = append(terms, t)
	}

	k.mu.Lock()

	if len(terms) == 0 || k.index.Load().live < minIndexed {
		k.mu.Unlock()

		return nil, false
	}

	found := map[*cell]struct{}{}

	for _, t := range terms {
		values := k.indexedBy(t.Key)

		if t.Op == resource.LabelExists {
			for _, cells := range values {
				add(&items, cells, found)
			}

			continue
		}

		wanted := t.Values
		if t.Op == resource.LabelEqual {
			wanted = wanted[:1]
		}

		for _, v := range wanted {
			add(&items, values[v], found)
		}
	}

	k.mu.Unlock()

	items = slices.DeleteFunc(items, func(r resource.Resource) bool { return !f.matches(r) })
	slices.SortFunc(items, func(a, b resource.Resource) int { return cmp.Compare(a.Metadata().ID(), b.Metadata().ID()) })

	return items, true
}

// add adds the versions of cells that are not yet found.
func add(items *[]resource.Resource, cells, found map[*cell]struct{}) {
	for c := range cells {
		if _, had := found[c]; !had {
			found[c] = struct{}{}

			*items = append(*items, c.load())
		}
	}
}

// indexedBy returns the cells by the value of a label. The lock is held.
func (k *kind) indexedBy(key string) map[string]map[*cell]struct{} {
	if values, ok := k.labels[key]; ok {
		return values
	}

	if k.labels == nil {
		k.labels = labelIndex{}
	}

	values := map[string]map[*cell]struct{}{}
	k.labels[key] = values

	for _, c := range k.ordered() {
		if v, ok := c.load().Metadata().Labels().Get(key); ok {
			enter(values, v, c)
		}
	}

	return values
}

func enter(values map[string]map[*cell]struct{}, v string, c *cell) {
	if values[v] == nil {
		values[v] = map[*cell]struct{}{}
	}

	values[v][c] = struct{}{}
}

func leave(values map[string]map[*cell]struct{}, v string, c *cell) {
	if delete(values[v], c); len(values[v]) == 0 {
		delete(values, v)
	}
}

// changed keeps the index true to a change; before and after are the cell and the version, nil for none.
func (x labelIndex) changed(before *cell, old resource.Resource, after *cell, now resource.Resource) {
	for key, values := range x {
		var (
			was, is         string
			wasThere, there bool
		)

		if old != nil {
			was, wasThere = old.Metadata().Labels().Get(key)
		}

		if now != nil {
			is, there = now.Metadata().Labels().Get(key)
		}

		if wasThere == there && was == is && before == after {
			continue
		}

		if wasThere {
			leave(values, was, before)
		}

		if there {
			enter(values, is, after)
		}
	}
}
