// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// entry is one change of a kind.
type entry struct {
	now    resource.Resource // for Destroyed, the last version
	old    resource.Resource // nil for Created
	oldMod uint64            // the change that made old
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
	}

	h.last++
	*h.at(h.last) = e

	return h.last
}

func (h *history) grow() {
	bigger := make([]entry, min(max(2*len(h.ring), minHistory), h.limit))

	for seq := h.first(); seq <= h.last; seq++ {
		bigger[seq%uint64(len(bigger))] = *h.at(seq)
	}

	h.ring = bigger
}
