// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// cell is the place of one resource from its creation to its destruction. Readers load the current version; everything
// else is guarded by the kind's lock.
type cell struct {
	// version is an atomic.Value and not a pointer to a resource.Resource, because that would cost an allocation
	// for each write.
	version atomic.Value
	mod     uint64 // sequence number of the last change; 0 when destroyed
}

func (c *cell) load() resource.Resource {
	r, _ := c.version.Load().(resource.Resource)

	return r
}

func (c *cell) id() string { return c.load().Metadata().ID() }

// index finds cells by id: open addressing with linear probing over atomic slots. One writer at a time changes it;
// readers take no lock. A slot never becomes empty again, so no probe of a reader ends too early. A deleted slot
// holds the grave until the index is rebuilt.
type index struct {
	slots []atomic.Pointer[cell]
	// tags are the hashes. So a probe looks only at cells with a matching hash, and rebuilding looks at no cell. A tag is
	// written once, before its slot.
	tags []uint32
	used int // slots that are not empty, graves included
	live int
}

var (
	seed       = maphash.MakeSeed()
	grave      = &cell{}
	emptyIndex = &index{slots: make([]atomic.Pointer[cell], 1), tags: make([]uint32, 1)}
)

const minIndex = 2

// place is the end of a probe: the slot of the id, or the free slot for it.
type place struct {
	slot int
	tag  uint32
}

func (x *index) find(id string) *cell {
	c, _ := x.probe(id)

	return c
}

func (x *index) probe(id string) (*cell, place) {
	mask := len(x.slots) - 1
	tag := uint32(maphash.String(seed, id))

	for i := int(tag) & mask; ; i = (i + 1) & mask {
		c := x.slots[i].Load()
		if c == nil {
			return nil, place{i, tag}
		}

		if x.tags[i] == tag && c != grave && c.id() == id {
			return c, place{i, tag}
		}
	}
}

// free returns the free slot for a new id with the tag.
func (x *index) free(tag uint32) place {
	mask := len(x.slots) - 1

	i := int(tag) & mask
	for x.slots[i].Load() != nil {
		i = (i + 1) & mask
	}

	return place{i, tag}
}

func (x *index) put(at place, c *cell) {
	x.tags[at.slot] = at.tag
	x.slots[at.slot].Store(c)

	x.used++
	x.live++
}

// add adds a cell with a new id at the place where the probe for the id ended. It returns the index to use from now on.
func (x *index) add(at place, c *cell) *index {
	// At least a quarter of the slots stay empty, which also ends every probe.
	if 4*(x.used+1) > 3*len(x.slots) {
		x = x.rebuilt()
		at = x.free(at.tag)
	}

	x.put(at, c)

	return x
}

func (x *index) remove(at place) {
	x.slots[at.slot].Store(grave)
	x.live--
}

// rebuilt returns a copy without graves and with free slots.
func (x *index) rebuilt() *index {
	size := minIndex
	for 2*(x.live+1) > size {
		size *= 2
	}

	out := &index{slots: make([]atomic.Pointer[cell], size), tags: make([]uint32, size)}

	for i := range x.slots {
		if c := x.slots[i].Load(); c != nil && c != grave {
			out.put(out.free(x.tags[i]), c)
		}
	}

	return out
}
