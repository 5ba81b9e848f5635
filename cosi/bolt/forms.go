// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"fmt"

	"go.etcd.io/bbolt"
)

// form is the form of the file, which the byte before the epoch says. The first two forms have no such byte, and versions that
// know only these refuse an epoch that has it.
const form = 3

// The first form of the file had nested buckets: kinds/<kind>/items and kinds/<kind>/history. The second one had no log, and the last
// changes of a kind in a bucket of their own.
const suffixTail = 't'

var (
	bucketNested  = []byte("kinds")
	nestedItems   = []byte("items")
	nestedHistory = []byte("history")
)

// upgrade brings a file of an earlier form to this one.
func upgrade(tx *bbolt.Tx) error {
	if err := flatten(tx); err != nil {
		return err
	}

	var tails [][]byte

	err := tx.ForEach(func(bucket []byte, _ *bbolt.Bucket) error {
		if kind, ok := kindOfBucket(bucket); ok && bucket[len(bucket)-1] == suffixTail {
			tails = append(tails, bytes.Clone(kind))
		}

		return nil
	})
	if err != nil {
		return err
	}

	for _, kind := range tails {
		to, err := openBucket(tx, bucketOf(kind, suffixHistory))
		if err != nil {
			return err
		}

		tail := bucketOf(kind, suffixTail)

		if err := tx.Bucket(tail).ForEach(to.Put); err != nil {
			return err
		}

		if err := tx.DeleteBucket(tail); err != nil {
			return err
		}
	}

	return nil
}

// flatten moves the contents of a file of the first form to the flat buckets. Sealed values are bound to the same places
// in both forms.
func flatten(tx *bbolt.Tx) error {
	nested := tx.Bucket(bucketNested)
	if nested == nil {
		return nil
	}

	err := nested.ForEachBucket(func(kind []byte) error {
		b := nested.Bucket(kind)

		for _, part := range []struct {
			name   []byte
			suffix byte
		}{{nestedItems, suffixItems}, {nestedHistory, suffixHistory}} {
			from := b.Bucket(part.name)
			if from == nil {
				return fmt.Errorf("kind %q has no %s", kind, part.name)
			}

			to, err := tx.CreateBucket(bucketOf(kind, part.suffix))
			if err != nil {
				return err
			}

			if err := from.ForEach(to.Put); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return err
	}

	return tx.DeleteBucket(bucketNested)
}
