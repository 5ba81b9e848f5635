// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// order is the cells sorted by id as of one generation of the kind; immutable. It is built by a list, which merges in the
// cells created since. So a creation has no tree to update.
type order struct {
	cells      []*cell
	generation uint64
}

// view is the versions sorted by id as of one sequence number; immutable. It is kept from the second list of an unchanged
// kind until the kind changes.
type view struct {
	items []resource.Resource
	seq   uint64
}

// list returns a snapshot; the caller may change the slice.
func (k *kind) list() []resource.Resource {
	if v := k.view.Load(); v != nil && v.seq == k.begun.Load() {
		return slices.Clone(v.items)
	}

	items, at := k.snapshot()

	// A view is kept only from the second list of an unchanged kind.
	if k.lastListed.Swap(at) == at && len(items) > 0 {
		k.view.Store(&view{items: items, seq: at})

		// A concurrent write may have looked for a view to discard before this one was stored.
		if k.begun.Load() != at {
			k.view.Store(nil)
		}

		return slices.Clone(items)
	}

	return items
}

func (k *kind) listMatching(f filter) []resource.Resource {
	if items, answered := k.listByLabel(f); answered {
		return items
	}

	var out []resource.Resource

	if v := k.view.Load(); v != nil && v.seq == k.begun.Load() {
		for _, r := range v.items {
			if f.matches(r) {
				out = append(out, r)
			}
		}

		k.noteAsked(f, v.items)

		return out
	}

	items, _ := k.snapshot()
	k.noteAsked(f, items)

	return slices.DeleteFunc(items, func(r resource.Resource) bool { return !f.matches(r) })
}

// snapshot returns all versions as of one moment, sorted by id. It tries without the lock first: if no write has begun after
// the last one that was complete at the start, all versions are of one moment.
func (k *kind) snapshot() (items []resource.Resource, seq uint64) {
	seq = k.seq.Load()

	if o := k.order.Load(); o != nil && o.generation == k.generation.Load() {
		items = versionsOf(o.cells)

		if k.begun.Load() == seq {
			return items, seq
		}
	}

	k.mu.Lock()
	defer k.mu.Unlock()

	return versionsOf(k.ordered()), k.seq.Load()
}

func versionsOf(cells []*cell) []resource.Resource {
	items := make([]resource.Resource, len(cells))
	for i, c := range cells {
		items[i] = c.load()
	}

	return items
}

// ordered returns the live cells sorted by id. The lock is held.
func (k *kind) ordered() []*cell {
	generation := k.generation.Load()

	old := k.order.Load()
	if old != nil && old.generation == generation {
		return old.cells
	}

	var cells []*cell
	if old != nil {
		cells = old.cells
	}

	cells = merge(cells, k.fresh, k.index.Load().live)
	k.fresh, k.stale = nil, 0
	k.order.Store(&order{cells: cells, generation: generation})

	return cells
}

// merge returns sorted and fresh, without destroyed cells, as one sorted slice.
func merge(sorted, fresh []*cell, live int) []*cell {
	type named struct {
		id   string
		cell *cell
	}

	added := make([]named, 0, len(fresh))

	for _, c := range fresh {
		if c.mod != 0 {
			added = append(added, named{c.id(), c})
		}
	}

	slices.SortFunc(added, func(a, b named) int { return cmp.Compare(a.id, b.id) })

	out := make([]*cell, 0, live)

	for _, c := range sorted {
		if c.mod == 0 {
			continue
		}

		for len(added) > 0 && strings.Compare(added[0].id, c.id()) < 0 {
			out = append(out, added[0].cell)
			added = added[1:]
		}

		out = append(out, c)
	}

	for _, a := range added {
		out = append(out, a.cell)
	}

	return out
}

// noteCreated and noteDestroyed record changes for the next order, and limit the destroyed cells in the old one.
func (k *kind) noteCreated(c *cell) {
	k.generation.Add(1)
	k.fresh = append(k.fresh, c)
}

func (k *kind) noteDestroyed() {
	k.generation.Add(1)
	k.stale++

	const slack = 64

	if k.stale > k.index.Load().live+slack {
		k.ordered()
	}
}
