// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// The file:
//
//	meta/epoch              sealed random bytes, which bookmarks carry
//	kind/<kind>i/<id>       sealed: number of the change, then the resource
//	kind/<kind>h/<number>   sealed: the change, with the version that it replaced
//
// where <kind> is the length of the namespace, the namespace and the type, and <id> has a byte before it because
// bolt has no empty keys. What a change led to is not stored again: it is what the next change of the resource
// replaced, or the item.
//
// The first part of each line is the name of a bucket. Buckets are not nested, because each level is another page that
// every write has to store.
var (
	bucketMeta = []byte("meta")
	bucketKind = []byte("kind/")
	keyEpoch   = []byte("epoch")

	// The places that values are sealed to.
	placeItems   = []byte("items")
	placeHistory = []byte("history")
)

const (
	suffixItems   = 'i'
	suffixHistory = 'h'
)

// bucketOf returns the name of a bucket of a kind.
func bucketOf(kind []byte, suffix byte) []byte {
	return append(slices.Concat(bucketKind, kind), suffix)
}

// kindOfBucket returns the kind of a bucket; false for a bucket that is of none.
func kindOfBucket(name []byte) (kind []byte, ok bool) {
	kind, ok = bytes.CutPrefix(name, bucketKind)
	if !ok || len(kind) == 0 {
		return nil, false
	}

	return kind[:len(kind)-1], true
}

// file is the journal of a state.
type file struct {
	db      *bbolt.DB
	seal    *sealer
	history uint64
}

func kindKey(k resource.Kind) []byte {
	b := binary.AppendUvarint(nil, uint64(len(k.Namespace)))

	return append(append(b, k.Namespace...), k.Type...)
}

func kindOfKey(b []byte) (resource.Kind, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return resource.Kind{}, fmt.Errorf("kind %q is malformed", b)
	}

	rest := b[size:]

	return resource.Kind{Namespace: string(rest[:n]), Type: string(rest[n:])}, nil
}

func idKey(id string) []byte { return append([]byte{'/'}, id...) }

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// place binds a sealed value to where it is stored.
func place(parts ...[]byte) string {
	var b []byte

	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}

	return string(b)
}

// Check implements memory.Journal.
func (f *file) Check(kind resource.Kind, id string) error {
	// Bytes of a key: what bolt takes, and what idKey, or kindKey and bucketOf, add at most.
	const most = bbolt.MaxKeySize - binary.MaxVarintLen64

	if n := len(kind.Namespace) + len(kind.Type); n > most {
		return fmt.Errorf("store %s: namespace and type have %d bytes, expected %d at most", f.db.Path(), n, most)
	}

	if n := len(id); n > most {
		return fmt.Errorf("store %s: the id has %d bytes, expected %d at most", f.db.Path(), n, most)
	}

	return nil
}

// Commit implements memory.Journal: one transaction for all changes.
func (f *file) Commit(changes []memory.Change) error {
	err := f.db.Update(func(tx *bbolt.Tx) error {
		for i := range changes {
			if err := f.put(tx, &changes[i]); err != nil {
				return fmt.Errorf("%s of %s/%s: %w", verbs[changes[i].Type], changes[i].Kind, changes[i].ID, err)
			}
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("store %s: %w", f.db.Path(), err)
	}

	return nil
}

var verbs = map[state.EventType]string{state.Created: "create", state.Updated: "update", state.Destroyed: "destroy"}

func (f *file) put(tx *bbolt.Tx, c *memory.Change) error {
	name, id, number := kindKey(c.Kind), idKey(c.ID), seqKey(c.Seq)

	items, err := tx.CreateBucketIfNotExists(bucketOf(name, suffixItems))
	if err != nil {
		return err
	}

	history, err := tx.CreateBucketIfNotExists(bucketOf(name, suffixHistory))
	if err != nil {
		return err
	}

	// Numbers only grow: pages are filled to the brim.
	history.FillPercent = 1

	if c.Type == state.Destroyed {
		err = items.Delete(id)
	} else {
		err = items.Put(id, f.seal.seal(append(seqKey(c.Seq), c.NowWire...), place(name, placeItems, id)))
	}

	if err != nil {
		return err
	}

	if err := history.Put(number, f.seal.seal(encodeChange(c), place(name, placeHistory, number))); err != nil {
		return err
	}

	return f.trim(history, c.Seq)
}

// trimEvery is how many changes are forgotten at once: with each change one, another page would be written each time.
const trimEvery = 64

// trim forgets the changes that are too far behind, every now and then. Those that are left beyond the limit are
// forgotten when the file is read.
func (f *file) trim(history *bbolt.Bucket, last uint64) error {
	if last <= f.history || last%trimEvery != 0 {
		return nil
	}

	for c := history.Cursor(); ; {
		k, _ := c.First()
		if k == nil || binary.BigEndian.Uint64(k) > last-f.history {
			return nil
		}

		if err := c.Delete(); err != nil {
			return err
		}
	}
}

// encodeChange is type, number of the replaced version, length of the id, id, replaced version.
func encodeChange(c *memory.Change) []byte {
	b := append([]byte{byte(c.Type)}, seqKey(c.OldSeq)...)
	b = append(binary.AppendUvarint(b, uint64(len(c.ID))), c.ID...)

	return append(b, c.OldWire...)
}
