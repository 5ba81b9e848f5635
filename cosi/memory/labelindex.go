// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// labelIndexes holds the cells by label key and value, for a few keys that lists query repeatedly and that resources have.
// The limits below prevent that lists make the store large or its writers slow. It is guarded by the kind's lock.
type labelIndexes struct {
	keys  map[string]*labelIndex
	asked []string // keys that lists queried and that have no index, latest last
	lists uint64   // counts lists by label
}

// labelIndex holds the cells that have a label, by its value.
type labelIndex struct {
	values map[string]map[*cell]struct{}
	list   uint64 // the last list that used it
	seq    uint64 // the last change when it was used
}

const (
	// minIndexed is how many resources make an index worth its memory.
	minIndexed = 64
	// maxIndexes limits the keys with an index, and the remembered keys without one.
	maxIndexes = 8
	// An unused index may be replaced after idleLists lists, and is dropped after idleChanges changes.
	idleLists   = 64
	idleChanges = 4096
)

// labelIndexes returns the indexes of a kind, which most kinds never need. The lock is held.
func (k *kind) labelIndexes() *labelIndexes {
	if k.labels == nil {
		k.labels = &labelIndexes{}
	}

	return k.labels
}

// indexable returns the first term of a query that an index can answer.
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

// listByLabel lists with the indexes, if they can answer all queries.
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

	k.labelIndexes().lists++

	found := map[*cell]struct{}{}

	for _, t := range terms {
		x := k.indexedBy(t.Key)
		if x == nil {
			k.mu.Unlock()

			return nil, false
		}

		if t.Op == resource.LabelExists {
			for _, cells := range x.values {
				add(&items, cells, found)
			}

			continue
		}

		wanted := t.Values
		if t.Op == resource.LabelEqual {
			wanted = wanted[:1]
		}

		for _, v := range wanted {
			add(&items, x.values[v], found)
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

// indexedBy returns the index of a label, or nil. A label gets an index when it is queried for the second time. The lock is
// held.
func (k *kind) indexedBy(key string) *labelIndex {
	l := k.labelIndexes()

	x, ok := l.keys[key]
	if !ok {
		i := slices.Index(l.asked, key)
		if i < 0 || !l.room() {
			return nil
		}

		l.asked = slices.Delete(l.asked, i, i+1)
		x = &labelIndex{values: map[string]map[*cell]struct{}{}}

		for _, c := range k.ordered() {
			if v, ok := c.load().Metadata().Labels().Get(key); ok {
				enter(x.values, v, c)
			}
		}

		if len(x.values) > 0 {
			if l.keys == nil {
				l.keys = map[string]*labelIndex{}
			}

			l.keys[key] = x
		}
	}

	x.list, x.seq = l.lists, k.seq.Load()

	return x
}

// room reports whether there is room for another index. If needed, it drops one that lists no longer use.
func (l *labelIndexes) room() bool {
	if len(l.keys) < maxIndexes {
		return true
	}

	for key, x := range l.keys {
		if l.lists-x.list > idleLists {
			delete(l.keys, key)

			return true
		}
	}

	return false
}

// noteAsked remembers the keys of a list without an index, if some resources have them.
func (k *kind) noteAsked(f filter, all []resource.Resource) {
	if len(all) < minIndexed {
		return
	}

	for _, q := range f.labels {
		t, ok := indexable(q)
		if !ok || !slices.ContainsFunc(all, func(r resource.Resource) bool {
			_, has := r.Metadata().Labels().Get(t.Key)

			return has
		}) {
			continue
		}

		k.mu.Lock()

		if l := k.labelIndexes(); !slices.Contains(l.asked, t.Key) && l.keys[t.Key] == nil {
			if len(l.asked) == maxIndexes {
				l.asked = slices.Delete(l.asked, 0, 1)
			}

			l.asked = append(l.asked, t.Key)
		}

		k.mu.Unlock()
	}
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

// changed updates the indexes after change number seq. before and old are the cell and the version before it, after and now
// those after it; nil for none.
func (l *labelIndexes) changed(seq uint64, before *cell, old resource.Resource, after *cell, now resource.Resource) {
	for key, x := range l.keys {
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

		if wasThere != there || was != is || before != after {
			if wasThere {
				leave(x.values, was, before)
			}

			if there {
				enter(x.values, is, after)
			}
		}

		if len(x.values) == 0 || seq-x.seq > idleChanges {
			delete(l.keys, key)
		}
	}
}
