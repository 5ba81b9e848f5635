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
//	kind/<kind>t/<number>   the same of the last changes
//
// where <kind> is the length of the namespace, the namespace and the type, and <id> has a byte before it because
// bolt has no empty keys. The version that a change led to is not stored again: it is the version that the next change
// of the resource replaced, or the item.
//
// The first part of each line is the name of a bucket. Buckets are not nested, because each level is another page that
// every write has to store. For the same reason the last changes have a bucket of their own. It is small, so it is stored
// with the root or takes one page; the history takes two.
var (
	bucketMeta = []byte("meta")
	bucketKind = []byte("kind/")
	keyEpoch   = []byte("epoch")

	// The places that sealed values are bound to.
	placeItems   = []byte("items")
	placeHistory = []byte("history")
)

const (
	suffixItems   = 'i'
	suffixHistory = 'h'
	suffixTail    = 't' // of the history
)

// bucketOf returns the name of a bucket of a kind.
func bucketOf(kind []byte, suffix byte) []byte {
	return slices.Concat(bucketKind, kind, []byte{suffix})
}

// kindOfBucket returns the kind of a bucket; false for a bucket that does not belong to a kind.
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
	b := make([]byte, 0, binary.MaxVarintLen32+len(k.Namespace)+len(k.Type))
	b = binary.AppendUvarint(b, uint64(len(k.Namespace)))

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

// Check implements memory.Journal.
func (f *file) Check(kind resource.Kind, id string) error {
	// Bytes of a key: the limit of bolt, minus the most that idKey, or kindKey and bucketOf, add.
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
			if err := f.put(tx, &changes[i], len(changes) > tailLength/2); err != nil {
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

// put stores a change. With many changes at once, it goes straight into the history and not into the tail first.
func (f *file) put(tx *bbolt.Tx, c *memory.Change, many bool) error {
	name, id, number := kindKey(c.Kind), idKey(c.ID), seqKey(c.Seq)

	items, err := openBucket(tx, bucketOf(name, suffixItems))
	if err != nil {
		return err
	}

	old, err := f.replaced(items, c, name, id)
	if err != nil {
		return err
	}

	change := f.seal.seal(encodeChange(c, old), name, placeHistory, number)

	if c.Type == state.Destroyed {
		err = items.Delete(id)
	} else {
		err = items.Put(id, f.seal.seal(append(number[:seqSize:seqSize], c.NowWire...), name, placeItems, id))
	}

	if err != nil {
		return err
	}

	return addChange(tx, name, number, change, many, f.history)
}

// replaced returns the stored form of the version that a change replaces, nil for none.
func (f *file) replaced(items *bbolt.Bucket, c *memory.Change, name, id []byte) ([]byte, error) {
	if c.Old == nil {
		return nil, nil
	}

	// The stored bytes are reused if they are of that version.
	value, err := f.seal.open(items.Get(id), name, placeItems, id)
	if err == nil && len(value) > seqSize && seqOf(value) == c.OldSeq {
		return value[seqSize:], nil
	}

	return resource.MarshalWire(c.Old)
}

// encodeChange is type, number of the replaced version, length of the id, id, replaced version.
func encodeChange(c *memory.Change, old []byte) []byte {
	b := make([]byte, 0, 1+seqSize+binary.MaxVarintLen32+len(c.ID)+len(old))
	b = binary.BigEndian.AppendUint64(append(b, byte(c.Type)), c.OldSeq)
	b = append(binary.AppendUvarint(b, uint64(len(c.ID))), c.ID...)

	return append(b, old...)
}
