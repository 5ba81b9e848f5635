// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"fmt"

	"go.etcd.io/bbolt"
)

// The first form of the file had nested buckets: kinds/<kind>/items and kinds/<kind>/history.
var (
	bucketNested  = []byte("kinds")
	nestedItems   = []byte("items")
	nestedHistory = []byte("history")
)

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
