// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"hash/maphash"
	"time"

	"github.com/seed-59268b81/talos/discovery/extension"
)

// Batch is encoded WatchResponses, in order, and the place that a watcher has reached when it has all of them.
type Batch struct {
	Messages []extension.Raw
	Sequence uint64
}

// cache holds what was encoded last: most watchers ask for the same.
type cache struct {
	changes    cached[uint64]
	snapshot   cached[struct{}]
	whole      cached[uint64]
	difference cached[uint64]
	buckets    struct {
		sequence uint64
		of       []uint32
	}
}

// cached is a batch, what it was encoded for, and when it was last asked for.
type cached[K comparable] struct {
	key   K
	batch Batch
	used  time.Time
}

func (c *cached[K]) get(key K, now time.Time) (Batch, bool) {
	if c.batch.Messages == nil || c.key != key {
		return Batch{}, false
	}

	c.used = now

	return c.batch, true
}

func (c *cached[K]) drop(now time.Time) {
	if now.Sub(c.used) > 10*time.Second {
		*c = cached[K]{}
	}
}

func (c *cache) drop(now time.Time) {
	c.changes.drop(now)
	c.snapshot.drop(now)
	c.whole.drop(now)
	c.difference.drop(now)

	c.buckets.of = nil
}

// Sequence returns the sequence number of the newest change.
func (c *Cluster) Sequence() uint64 { return c.sequence }

// Reaches reports whether Since knows all changes after a sequence number.
func (c *Cluster) Reaches(after uint64) bool { return after >= c.horizon && after <= c.sequence }

// Since returns the changes after a sequence number that Reaches.
func (c *Cluster) Since(now time.Time, after uint64) Batch {
	if after >= c.sequence {
		return Batch{Sequence: c.sequence}
	}

	if b, ok := c.cache.changes.get(after, now); ok && b.Sequence == c.sequence {
		return b
	}

	first := c.newest
	for first.older != nil && first.older.sequence > after {
		first = first.older
	}

	var (
		messages writer
		gone     extension.Raw
	)

	for e := first; e != nil; e = e.newer {
		if e.removed {
			gone = extension.AppendMember[string](gone, e.id, nil, nil)
		} else {
			messages.add(e.encoded)
		}
	}

	if gone != nil {
		messages.flush()
		messages.done = append(messages.done, extension.AppendDeleted(gone))
	}

	b := messages.batch(extension.Trailer{Sequence: c.sequence})
	c.cache.changes = cached[uint64]{after, b, now}

	return b
}

// Snapshot returns all members as they are, or as they were a few changes before: Since has the rest.
func (c *Cluster) Snapshot(now time.Time) Batch {
	c.Expire(now)

	if b, ok := c.cache.snapshot.get(struct{}{}, now); ok && c.Reaches(b.Sequence) && c.sequence-b.Sequence <= uint64(c.members/16) {
		return b
	}

	b := c.collect(func(*entry) bool { return true }, extension.Trailer{Sequence: c.sequence, End: true})
	c.cache.snapshot = cached[struct{}]{struct{}{}, b, now}

	return b
}

// Whole is Snapshot as one message, unless it were larger than limit.
func (c *Cluster) Whole(now time.Time, limit int) Batch {
	b := c.Snapshot(now)

	size := 0
	for _, m := range b.Messages {
		size += len(m)
	}

	if len(b.Messages) == 1 || size > limit {
		return b
	}

	if one, ok := c.cache.whole.get(b.Sequence, now); ok {
		return one
	}

	// Encoded messages one after the other are one message with the members of all.
	message := make(extension.Raw, 0, size)
	for _, m := range b.Messages {
		message = append(message, m...)
	}

	one := Batch{Messages: []extension.Raw{message}, Sequence: b.Sequence}
	c.cache.whole = cached[uint64]{b.Sequence, one, now}

	return one
}

var seed = maphash.MakeSeed()

// Difference returns all members of those buckets in which a watcher with this digest has others.
func (c *Cluster) Difference(now time.Time, have extension.Digest) Batch {
	c.Expire(now)

	key := maphash.Bytes(seed, have.Encode())
	if b, ok := c.cache.difference.get(key, now); ok && b.Sequence == c.sequence {
		return b
	}

	trailer := extension.Trailer{Sequence: c.sequence, End: true, Buckets: len(have.Buckets)}
	differs := make([]bool, len(have.Buckets))

	for i, sum := range c.buckets(len(have.Buckets)) {
		if sum != have.Buckets[i] {
			differs[i] = true
			trailer.Covered = append(trailer.Covered, uint32(i))
		}
	}

	b := c.collect(func(e *entry) bool { return differs[extension.Bucket(e.slot, len(differs))] }, trailer)
	c.cache.difference = cached[uint64]{key, b, now}

	return b
}

// buckets returns the sums of the hashes of the members of each bucket.
func (c *Cluster) buckets(count int) []uint32 {
	if known := &c.cache.buckets; known.sequence == c.sequence && len(known.of) == count {
		return known.of
	}

	d := extension.Digest{Buckets: make([]uint32, count)}

	for e := c.oldest; e != nil; e = e.newer {
		if !e.removed {
			d.Add(e.slot, e.hash)
		}
	}

	c.cache.buckets.sequence, c.cache.buckets.of = c.sequence, d.Buckets

	return d.Buckets
}

// collect encodes the members that are wanted.
func (c *Cluster) collect(want func(*entry) bool, trailer extension.Trailer) Batch {
	var messages writer

	for e := c.oldest; e != nil; e = e.newer {
		if !e.removed && want(e) {
			messages.add(e.encoded)
		}
	}

	return messages.batch(trailer)
}

// writer puts encoded members into messages of a limited size.
type writer struct {
	done    []extension.Raw
	pending [][]byte
	size    int
}

func (w *writer) add(encoded []byte) {
	if w.size > 0 && w.size+len(encoded) > maxMessage {
		w.flush()
	}

	w.pending = append(w.pending, encoded)
	w.size += len(encoded)
}

func (w *writer) flush() {
	if w.size == 0 {
		return
	}

	// Room for a short trailer.
	message := make(extension.Raw, 0, w.size+16)
	for _, p := range w.pending {
		message = append(message, p...)
	}

	w.done = append(w.done, message)
	w.pending, w.size = w.pending[:0], 0
}

// batch ends the messages with a trailer.
func (w *writer) batch(t extension.Trailer) Batch {
	w.flush()

	if len(w.done) == 0 {
		w.done = append(w.done, nil)
	}

	last := len(w.done) - 1
	w.done[last] = extension.AppendTrailer(w.done[last], t)

	return Batch{Messages: w.done, Sequence: t.Sequence}
}
