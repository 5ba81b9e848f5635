// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sort"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// entry is one change of a kind.
type entry struct {
	now    resource.Resource // for Destroyed, the last version
	old    resource.Resource // nil for Created
	oldMod uint64            // the change that made old
	mark   uint64            // the place of the change outside, which bookmarks carry; its number where there is no outside
	typ    state.EventType
}

func (e *entry) event(bookmark state.Bookmark) state.Event {
	ev := state.Event{Type: e.typ, Resource: e.now, Bookmark: bookmark}
	if e.typ == state.Updated {
		ev.Old = e.old
	}

	return ev
}

// history is the last entries of a kind, numbered from 1: a ring that grows to its limit.
type history struct {
	ring  []entry
	limit int
	last  uint64 // number of the newest entry, 0 when there is none yet
	count int
	floor uint64 // mark of the last entry thrown out, or where the history began
}

const minHistory = 8

// first is the number of the oldest entry kept; last+1 when none is.
func (h *history) first() uint64 { return h.last - uint64(h.count) + 1 }

func (h *history) at(seq uint64) *entry { return &h.ring[seq%uint64(len(h.ring))] }

// evicts returns the entry that the next add throws out, nil if it has room.
func (h *history) evicts() (*entry, uint64) {
	if h.count < h.limit {
		return nil, 0
	}

	return h.at(h.first()), h.first()
}

func (h *history) add(e entry) uint64 {
	if h.count == len(h.ring) && h.count < h.limit {
		h.grow()
	}

	if h.count < h.limit {
		h.count++
	} else {
		h.floor = h.at(h.first()).mark
	}

	h.last++
	*h.at(h.last) = e

	return h.last
}

// markOf returns the mark of the entry, or that of the floor for the one before the first. One further back has a mark
// that is no good for resuming.
func (h *history) markOf(seq uint64) uint64 {
	switch {
	case seq >= h.first() && seq <= h.last:
		return h.at(seq).mark
	case seq+1 == h.first():
		return h.floor
	default:
		return h.floor - 1
	}
}

// seqOf returns the number of the last entry whose mark is not above the given one, which is not below the floor.
func (h *history) seqOf(mark uint64) uint64 {
	n := sort.Search(h.count, func(i int) bool { return h.at(h.first()+uint64(i)).mark > mark })

	return h.first() - 1 + uint64(n)
}

// forget throws all entries out: what comes next follows the mark.
func (h *history) forget(mark uint64) {
	clear(h.ring)
	h.count, h.floor = 0, mark
}

func (h *history) grow() {
	bigger := make([]entry, min(max(2*len(h.ring), minHistory), h.limit))

	for seq := h.first(); seq <= h.last; seq++ {
		bigger[seq%uint64(len(bigger))] = *h.at(seq)
	}

	h.ring = bigger
}
