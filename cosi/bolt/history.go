// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// trimEvery is after how many changes of a kind the oldest are deleted. They are on another page than the last ones, which each
// deletion writes.
const trimEvery = 64

// addChange adds the change with the next number to the history of a kind, and now and then deletes those beyond the limit.
func addChange(tx *bbolt.Tx, kind, number, value []byte, limit uint64) error {
	b, err := openBucket(tx, bucketOf(kind, suffixHistory))
	if err != nil {
		return err
	}

	// Numbers only grow, so pages can be filled completely.
	b.FillPercent = 1

	if err := b.Put(number, value); err != nil {
		return err
	}

	if last := seqOf(number); last%trimEvery == 0 {
		return trim(b, last, limit)
	}

	return nil
}

// trim deletes the changes that are too far behind the last. Changes beyond the limit that remain are ignored when the file
// is read.
func trim(b *bbolt.Bucket, last, limit uint64) error {
	for c := b.Cursor(); ; {
		number, _ := c.First()
		if number == nil || seqOf(number)+limit > last {
			return nil
		}

		if err := c.Delete(); err != nil {
			return err
		}
	}
}

// openBucket returns a bucket, and creates a missing one. Most writes find it, and the library's function for this copies the
// name first.
func openBucket(tx *bbolt.Tx, name []byte) (*bbolt.Bucket, error) {
	if b := tx.Bucket(name); b != nil {
		return b, nil
	}

	return tx.CreateBucket(name)
}

func seqOf(number []byte) uint64 { return binary.BigEndian.Uint64(number) }
