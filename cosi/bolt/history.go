// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// tailLength is the limit of changes in the tail of a history. That many small changes are stored with the root.
const tailLength = 8

// trimEvery is after how many changes the oldest are deleted. They are on another page than the last ones, which each deletion
// writes.
const trimEvery = 64

// history is the changes of a kind. The last of them are in the tail; the bucket of the others is opened only when needed.
type history struct{ whole, tail *bbolt.Bucket }

// addChange adds the change with the next number, and now and then deletes those beyond the limit. With many changes at
// once it skips the tail.
func addChange(tx *bbolt.Tx, kind, number, value []byte, many bool, limit uint64) error {
	var (
		h   history
		err error
	)

	if h.tail, err = openBucket(tx, bucketOf(kind, suffixTail)); err != nil {
		return err
	}

	last := seqOf(number)

	if !many {
		if err := h.tail.Put(number, value); err != nil {
			return err
		}
	}

	first := last // number of the first change that goes into the history
	if oldest, _ := h.tail.Cursor().First(); oldest != nil {
		first = seqOf(oldest)
	}

	if !many && last-first < tailLength {
		return nil
	}

	if h.whole, err = openBucket(tx, bucketOf(kind, suffixHistory)); err != nil {
		return err
	}

	// Numbers only grow, so pages can be filled completely.
	h.whole.FillPercent = 1

	if err := h.fold(); err != nil {
		return err
	}

	if many {
		if err := h.whole.Put(number, value); err != nil {
			return err
		}
	}

	if last/trimEvery == (first-1)/trimEvery {
		return nil
	}

	return h.trim(last, limit)
}

// openBucket returns a bucket, and creates a missing one. Most writes find it, and the library's function for this copies the
// name first.
func openBucket(tx *bbolt.Tx, name []byte) (*bbolt.Bucket, error) {
	if b := tx.Bucket(name); b != nil {
		return b, nil
	}

	return tx.CreateBucket(name)
}

// fold moves the tail into the history.
func (h history) fold() error {
	for c := h.tail.Cursor(); ; {
		number, value := c.First()
		if number == nil {
			return nil
		}

		if err := h.whole.Put(number, bytes.Clone(value)); err != nil {
			return err
		}

		if err := c.Delete(); err != nil {
			return err
		}
	}
}

// trim deletes the changes that are too far behind the last. Changes beyond the limit that remain are ignored when the file
// is read.
func (h history) trim(last, limit uint64) error {
	for c := h.whole.Cursor(); ; {
		number, _ := c.First()
		if number == nil || seqOf(number)+limit > last {
			return nil
		}

		if err := c.Delete(); err != nil {
			return err
		}
	}
}

// each calls fn for all changes in order.
func (h history) each(fn func(number, value []byte) error) error {
	for _, b := range []*bbolt.Bucket{h.whole, h.tail} {
		if b == nil {
			continue
		}

		if err := b.ForEach(fn); err != nil {
			return err
		}
	}

	return nil
}

func seqOf(number []byte) uint64 { return binary.BigEndian.Uint64(number) }
