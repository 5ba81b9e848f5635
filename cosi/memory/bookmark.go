// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// A bookmark is the epoch of the store (random, stored together with its history), the hash of the kind and the
// number of an event (its mark). So a bookmark of another store, of another life of this store or of another kind is refused.
//
// In a follower several events may have one mark. The bookmark of such an event also has its place among them and, if the
// order is specific to the follower, the nonce of the follower.
const (
	epochSize    = 8
	bookmarkSize = epochSize + 16
	nthSize      = 4
	nonceSize    = 4
)

func kindHash(k resource.Kind) uint64 {
	h := fnv.New64a()
	h.Write([]byte(k.Namespace))
	h.Write([]byte{0})
	h.Write([]byte(k.Type))

	return h.Sum64()
}

// bookmark of an event.
func (k *kind) bookmark(seq uint64) state.Bookmark { return k.bookmarkAt(k.history.positionOf(seq)) }

// bookmarkNow returns a bookmark after the last event. In a follower it is after the last event of all kinds, and so stays
// valid longer.
func (k *kind) bookmarkNow() state.Bookmark {
	end := k.history.end

	if f := k.store.feed; f != nil {
		if applied := f.applied.Load(); applied >= end.mark {
			end = wholly(applied)
		}
	}

	return k.bookmarkAt(end)
}

func (k *kind) bookmarkAt(p position) state.Bookmark {
	f := k.store.feed

	b := make([]byte, 0, bookmarkSize+nthSize+nonceSize)
	b = append(b, k.store.epoch[:]...)
	b = binary.BigEndian.AppendUint64(b, k.hash)
	b = binary.BigEndian.AppendUint64(b, p.mark)

	if f == nil || p == wholly(p.mark) {
		return b[:bookmarkSize:bookmarkSize]
	}

	b = binary.BigEndian.AppendUint32(b, p.nth)

	if p.mark == k.history.resynced {
		b = binary.BigEndian.AppendUint32(b, f.nonce)
	}

	return b
}

// resume returns the number of the last event up to the bookmark. The lock is held.
func (k *kind) resume(b state.Bookmark, ptr resource.Pointer) (uint64, error) {
	p, err := k.positionAt(b)

	switch h := &k.history; {
	case err != nil:
	case h.floor.after(p):
		err = fmt.Errorf("the events after %d are no longer in the history, which begins after %d", p.mark, h.floor.mark)
	case p == wholly(p.mark):
		ceiling := h.end.mark
		if f := k.store.feed; f != nil {
			ceiling = max(ceiling, f.applied.Load())
		}

		if p.mark <= ceiling {
			return h.seqOf(p), nil
		}

		err = fmt.Errorf("event %d has not happened", p.mark)
	default:
		if seq := h.seqOf(p); h.positionOf(seq) == p {
			return seq, nil
		}

		err = fmt.Errorf("there was no change %d of event %d", p.nth, p.mark)
	}

	return 0, state.NewError(state.InvalidBookmark, "watch", ptr, "invalid bookmark: %v", err)
}

// positionAt reads a bookmark.
func (k *kind) positionAt(b state.Bookmark) (position, error) {
	f := k.store.feed

	if n := len(b); n != bookmarkSize && (f == nil || n != bookmarkSize+nthSize && n != bookmarkSize+nthSize+nonceSize) {
		return position{}, fmt.Errorf("it has %d bytes, expected %d", n, bookmarkSize)
	}

	if !bytes.Equal(b[:epochSize], k.store.epoch[:]) {
		return position{}, errors.New("it is of another store, or of this one before a restart")
	}

	if binary.BigEndian.Uint64(b[epochSize:]) != k.hash {
		return position{}, errors.New("it is of another kind")
	}

	p := wholly(binary.BigEndian.Uint64(b[epochSize+8:]))

	rest := b[bookmarkSize:]
	if len(rest) == 0 {
		return p, nil
	}

	p.nth = binary.BigEndian.Uint32(rest)

	own := len(rest) > nthSize && binary.BigEndian.Uint32(rest[nthSize:]) == f.nonce
	if own != (p.mark == k.history.resynced) || own != (len(rest) > nthSize) {
		return position{}, errors.New("it is of a follower that had the changes in another order")
	}

	return p, nil
}
