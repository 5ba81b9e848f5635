// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"iter"
	"math/rand/v2"
)

// States yields what a power cut could leave, from one entry of the log to another, which is the first after the range. For each flush it
// yields the disk with nothing after the flush, and of what was written until the next one: any prefix, the last write torn; any of the writes;
// and any of the sectors. Each of these a number of times.
func (r *Recording) States(rng *rand.Rand, from, to, times int) iter.Seq[*State] {
	return func(yield func(*State) bool) {
		durable, start, flushes := newLayer(), 0, 0
		entries := r.Log.Entries

		for start < len(entries) && start < to {
			end := start
			for end < len(entries) && (end == start || entries[end].Flags&Flush == 0) {
				end++
			}

			begin := start
			if e := entries[start]; e.Flags&Flush != 0 {
				flushes++

				if !e.writes() { // else its data are written after the flush
					begin++
				}
			}

			s := span{begin: begin, first: max(from, begin), end: min(end, max(to, begin)), flushes: flushes}
			if end >= from && !r.between(yield, rng, durable, s, times) {
				return
			}

			for _, e := range entries[start:end] {
				if e.writes() {
					durable.put(e, 0, e.sectors(), zeros)
				}
			}

			start = end
		}

		if to > len(entries) {
			yield(r.state(durable, span{begin: len(entries), flushes: flushes}, "all is durable"))
		}
	}
}

// span is the entries from one flush to the next. Cuts are not before first.
type span struct{ begin, first, end, flushes int }

func (r *Recording) state(durable *layer, s span, how string) *State {
	return &State{recording: r, layers: [3]*layer{durable, newLayer(), newLayer()}, Entry: s.begin, Flushes: s.flushes, How: how}
}

// between yields the states between two flushes.
func (r *Recording) between(yield func(*State) bool, rng *rand.Rand, durable *layer, s span, times int) bool {
	if s.first == s.begin && !yield(r.state(durable, s, "nothing since the flush")) {
		return false
	}

	writes := 0

	for _, e := range r.Log.Entries[s.begin:s.end] {
		if e.writes() {
			writes++
		}
	}

	if writes == 0 || s.first > s.end {
		return true
	}

	for range times {
		for _, how := range []string{prefix, someWrites, someSectors} {
			if !yield(r.cut(rng, durable, s, how)) {
				return false
			}
		}
	}

	return true
}

// Which writes since the last flush are kept.
const (
	prefix      = "a prefix of the writes"
	someWrites  = "some writes"
	someSectors = "some sectors"
)

// cut returns a state at a random place between two flushes.
func (r *Recording) cut(rng *rand.Rand, durable *layer, s span, how string) *State {
	out := r.state(durable, s, how)
	out.Entry = s.first + rng.IntN(s.end-s.first+1)

	share := rng.Float64()
	what := []source{zeros, anything, below}[rng.IntN(3)]

	for i, e := range r.Log.Entries[s.begin:min(out.Entry+1, s.end)] {
		if !e.writes() {
			continue
		}

		done := s.begin+i < out.Entry
		size := e.sectors()

		switch {
		case done && (e.Flags&FUA != 0 || how == prefix), done && (how == someWrites || e.Flags&Discard != 0) && rng.Float64() < share:
			out.layers[1].put(e, 0, size, what)
			out.Kept++
		case how == prefix: // the last write is torn
			out.layers[1].put(e, 0, rng.Int64N(size+1), what)
			out.Kept, out.Lost = out.Kept+1, out.Lost+1
		case how == someSectors && e.Flags&Discard == 0:
			for n := range size {
				if rng.Float64() < share {
					out.layers[1].put(e, n, n+1, what)
				}
			}

			out.Kept, out.Lost = out.Kept+1, out.Lost+1
		default:
			out.Lost++
		}
	}

	return out
}
