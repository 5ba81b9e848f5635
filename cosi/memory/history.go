// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"sort"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// entry is one change of a kind.
type entry struct {
	now    resource.Resource // for Destroyed, the last version
	old    resource.Resource // nil for Created
	oldMod uint64            // number of the change that stored old
	mark   uint64            // for bookmarks: the place in the followed store, else the number of the change
	nth    uint32            // place among the changes with the mark
	weight weight            // memory that only this entry refers to
	typ    state.EventType
}

func (e *entry) event(bookmark state.Bookmark) state.Event {
	ev := state.Event{Type: e.typ, Resource: e.now, Bookmark: bookmark}
	if e.typ == state.Updated {
		ev.Old = e.old
	}

	return ev
}

// weight is memory in units of 64 bytes; the heaviest weigh 4 MiB, which is the default limit of a history.
type weight uint16

const weightUnit = 64

func weightOf(size int) weight {
	return weight(min((size+weightUnit-1)/weightUnit, math.MaxUint16))
}

func (w weight) bytes() int { return int(w) * weightUnit }

// position is a place in a history: after the first nth changes with a mark.
type position struct {
	mark uint64
	nth  uint32
}

// wholly is the position after all changes with the mark.
func wholly(mark uint64) position { return position{mark, math.MaxUint32} }

func (p position) after(q position) bool { return p.mark > q.mark || p.mark == q.mark && p.nth > q.nth }

// limits are those of all histories of a store.
type limits struct {
	entries int
	few     int // entries of a kind without resources; see limitFor
	bytes   int
}

// history is the last entries of a kind, numbered from 1: a ring that grows to its limit.
type history struct {
	ring   []entry
	limits *limits
	last   uint64
	count  int
	bytes  int
	floor  position // of the last discarded entry, or where the history began
	end    position // of the last entry, or where the history began
	// resynced is the mark of a resync, whose changes have an order that is specific to this history; 0 for none.
	resynced uint64
}

const (
	firstHistory = 1 // many kinds have one resource that never changes
	minHistory   = 8
	// A kind with few resources has a shorter history, unless WithHistory sets another: 1,024 old versions of one small resource
	// would take much more memory than the rest of the kind.
	smallHistory = 200
)

// limitFor returns the limit of entries for a kind with that many resources.
func (h *history) limitFor(live int) int { return min(h.limits.entries, h.limits.few+live) }

// first returns the number of the oldest entry, or last+1 if there is none.
func (h *history) first() uint64 { return h.last - uint64(h.count) + 1 }

// fading reports whether the number is in the older half of the history, or before it.
func (h *history) fading(seq uint64) bool {
	return h.count >= minHistory && seq < h.first()+uint64(h.count/2)
}

func (h *history) at(seq uint64) *entry { return &h.ring[seq%uint64(len(h.ring))] }

// excess returns the oldest entry and its number if it must be dropped before an entry of the weight is added; else nil.
func (h *history) excess(live int, w weight) (*entry, uint64) {
	if h.count < h.limitFor(live) && (h.count < minHistory || h.bytes+w.bytes() <= h.limits.bytes) {
		return nil, 0
	}

	return h.at(h.first()), h.first()
}

// drop discards the oldest entry.
func (h *history) drop(e *entry) {
	h.floor = position{e.mark, e.nth}
	h.bytes -= e.weight.bytes()

	if h.count < len(h.ring) { // else the next entry overwrites it
		*e = entry{}
	}

	h.count--
}

// add adds an entry; excess entries must have been dropped.
func (h *history) add(e entry, live int) uint64 {
	if h.count == len(h.ring) {
		h.grow(live)
	}

	if h.end.mark == e.mark {
		e.nth = h.end.nth
	}

	e.nth++
	h.end = position{e.mark, e.nth}
	h.count++
	h.last++
	h.bytes += e.weight.bytes()
	*h.at(h.last) = e

	return h.last
}

// begin sets the position of an empty history.
func (h *history) begin(p position) { h.floor, h.end = p, p }

// positionOf returns the position after the entry, or the floor for the entry before the first. For older entries it returns
// a position that cannot be resumed.
func (h *history) positionOf(seq uint64) position {
	switch {
	case seq >= h.first() && seq <= h.last:
		e := h.at(seq)

		return position{e.mark, e.nth}
	case seq+1 == h.first():
		return h.floor
	default:
		return wholly(h.floor.mark - 1)
	}
}

// seqOf returns the number of the last entry that is not after the position, which is not before the floor.
func (h *history) seqOf(p position) uint64 {
	n := sort.Search(h.count, func(i int) bool { return h.positionOf(h.first() + uint64(i)).after(p) })

	return h.first() - 1 + uint64(n)
}

// forget discards all entries. The next changes, up to the mark, have an order that is specific to this history.
func (h *history) forget(mark uint64) {
	clear(h.ring)
	h.count, h.bytes, h.resynced = 0, 0, mark
	h.begin(position{mark: mark})
}

func (h *history) grow(live int) {
	bigger := make([]entry, min(max(2*len(h.ring), firstHistory), h.limitFor(live)))

	for seq := h.first(); seq <= h.last; seq++ {
		bigger[seq%uint64(len(bigger))] = *h.at(seq)
	}

	h.ring = bigger
}
