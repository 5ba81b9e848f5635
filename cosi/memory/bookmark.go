// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// A bookmark is the epoch of the store (random, kept as long as its history is), the hash of the kind and the
// number of an event (its mark). So one of another store, another life of this store or another kind is refused.
const (
	epochSize    = 8
	bookmarkSize = epochSize + 16
)

func kindHash(k resource.Kind) uint64 {
	h := fnv.New64a()
	h.Write([]byte(k.Namespace)) //nolint:errcheck // a hash takes everything
	h.Write([]byte{0})           //nolint:errcheck // a hash takes everything
	h.Write([]byte(k.Type))      //nolint:errcheck // a hash takes everything

	return h.Sum64()
}

// bookmark of an event.
func (k *kind) bookmark(seq uint64) state.Bookmark { return k.bookmarkAt(k.history.markOf(seq)) }

// bookmarkNow is after all that has happened. In a follower that is more than what happened to the kind, and so it is
// good for longer.
func (k *kind) bookmarkNow() state.Bookmark {
	mark := k.history.markOf(k.history.last)
	if f := k.store.feed; f != nil {
		mark = max(mark, f.applied.Load())
	}

	return k.bookmarkAt(mark)
}

func (k *kind) bookmarkAt(mark uint64) state.Bookmark {
	b := make([]byte, 0, bookmarkSize)
	b = append(b, k.store.epoch[:]...)
	b = binary.BigEndian.AppendUint64(b, k.hash)

	return binary.BigEndian.AppendUint64(b, mark)
}

// resume returns the number of the last event up to the bookmark. The lock is held.
func (k *kind) resume(b state.Bookmark, ptr resource.Pointer) (uint64, error) {
	invalid := func(format string, args ...any) (uint64, error) {
		return 0, state.NewError(state.InvalidBookmark, "watch", ptr, "invalid bookmark: "+format, args...)
	}

	if len(b) != bookmarkSize {
		return invalid("it has %d bytes, expected %d", len(b), bookmarkSize)
	}

	if !bytes.Equal(b[:epochSize], k.store.epoch[:]) {
		return invalid("it is of another store, or of this one before a restart")
	}

	if binary.BigEndian.Uint64(b[epochSize:]) != k.hash {
		return invalid("it is of another kind")
	}

	mark := binary.BigEndian.Uint64(b[epochSize+8:])

	ceiling := k.history.markOf(k.history.last)
	if f := k.store.feed; f != nil {
		ceiling = max(ceiling, f.applied.Load())
	}

	switch {
	case mark > ceiling:
		return invalid("event %d has not happened", mark)
	case mark < k.history.floor:
		return invalid("what came after event %d is no longer in the history, which begins after %d", mark, k.history.floor)
	default:
		return k.history.seqOf(mark), nil
	}
}
