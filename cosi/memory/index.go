// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// cell is the place of one resource from its creation to its destruction. Readers load the current version;
// everything else about it belongs to the holder of the kind's lock.
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

// index finds cells by id: open addressing with linear probing over atomic slots. One writer at a time changes it,
// readers take no lock. A slot is never emptied again, so that no probe of a reader is cut short; a deleted one
// holds the grave until the index is made anew.
type index struct {
	slots []atomic.Pointer[cell]
	used  int // slots that are not empty, graves included
	live  int
}

var (
	seed       = maphash.MakeSeed()
	grave      = &cell{}
	emptyIndex = &index{slots: make([]atomic.Pointer[cell], 1)}
)

const minIndex = 8

func (x *index) find(id string) *cell {
	c, _ := x.probe(id)

	return c
}

// probe returns the cell of the id and its slot; a nil cell and the free slot if there is none.
func (x *index) probe(id string) (*cell, int) {
	mask := len(x.slots) - 1

	for i := int(maphash.String(seed, id)) & mask; ; i = (i + 1) & mask {
		c := x.slots[i].Load()
		if c == nil {
			return nil, i
		}

		if c != grave && c.id() == id {
			return c, i
		}
	}
}

// add puts in a cell whose id is not there. It returns the index to use from now on.
func (x *index) add(id string, c *cell) *index {
	// At least a quarter of the slots stay empty, which also ends every probe.
	if 4*(x.used+1) > 3*len(x.slots) {
		x = x.remade()
	}

	_, i := x.probe(id)
	x.slots[i].Store(c)

	x.used++
	x.live++

	return x
}

func (x *index) remove(id string) {
	if c, i := x.probe(id); c != nil {
		x.slots[i].Store(grave)
		x.live--
	}
}

// remade returns a copy without graves and with room.
func (x *index) remade() *index {
	size := minIndex
	for 2*(x.live+1) > size {
		size *= 2
	}

	out := &index{slots: make([]atomic.Pointer[cell], size)}

	for i := range x.slots {
		if c := x.slots[i].Load(); c != nil && c != grave {
			_, free := out.probe(c.id())
			out.slots[free].Store(c)
			out.used++
		}
	}

	out.live = out.used

	return out
}
