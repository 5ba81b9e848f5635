// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// The file:
//
//	meta/epoch              sealed: the form of the file, and random bytes, which bookmarks carry
//	meta/log                sealed: the generation of the log, while there is one
//	kind/<kind>i/<id>       sealed: number of the change, then the resource
//	kind/<kind>h/<number>   sealed: the change, with the version that it replaced
//
// where <kind> is the length of the namespace, the namespace and the type, and <id> has a byte before it because
// bolt has no empty keys. The version that a change led to is not stored again: it is the version that the next change
// of the resource replaced, or the item.
//
// The first part of each line is the name of a bucket. Buckets are not nested, because each level is another page that
// a transaction has to store.
var (
	bucketMeta = []byte("meta")
	bucketKind = []byte("kind/")
	keyEpoch   = []byte("epoch")
	keyLog     = []byte("log")

	// The places that sealed values are bound to.
	placeItems   = []byte("items")
	placeHistory = []byte("history")
	placeLog     = []byte("log")
)

const (
	suffixItems   = 'i'
	suffixHistory = 'h'
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
	log     log
	closed  bool
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

// Commit implements memory.Journal. The changes go to the log; when that is full, to the file.
func (f *file) Commit(changes []memory.Change) error {
	added := entries(changes)

	logged, err := f.log.add(f.seal, added)
	if err == nil && !logged {
		err = f.store(added)
	}

	if err != nil {
		return fmt.Errorf("store %s: %w", f.db.Path(), err)
	}

	return nil
}

// store stores the changes of the log and the added ones in one transaction, and begins the log again.
func (f *file) store(added []entry) error {
	generation := newGeneration()

	err := f.db.Update(func(tx *bbolt.Tx) error {
		if err := f.putAll(tx, f.log.changes); err != nil {
			return err
		}

		if err := f.putAll(tx, added); err != nil || f.log.file == nil {
			return err
		}

		return f.putGeneration(tx.Bucket(bucketMeta), generation)
	})
	if err != nil {
		return err
	}

	f.log.restart(generation)

	return nil
}

// close stores the changes of the log, closes the file and removes the log. If they cannot be stored, the log stays.
func (f *file) close() error {
	if f.closed {
		return nil
	}

	f.closed = true

	err := f.db.Update(func(tx *bbolt.Tx) error {
		if err := f.putAll(tx, f.log.changes); err != nil {
			return err
		}

		return tx.Bucket(bucketMeta).Delete(keyLog)
	})
	if err == nil {
		err = f.log.remove()
	}

	if err := errors.Join(err, f.db.Close()); err != nil {
		return fmt.Errorf("store %s: %w", f.db.Path(), err)
	}

	return nil
}

var verbs = map[state.EventType]string{state.Created: "create", state.Updated: "update", state.Destroyed: "destroy"}

// putAll stores changes in the items and the histories of their kinds.
func (f *file) putAll(tx *bbolt.Tx, changes []entry) error {
	for _, c := range changes {
		if err := f.put(tx, c); err != nil {
			return fmt.Errorf("%s of %s/%s: %w", verbs[c.Type], c.Kind, c.ID, err)
		}
	}

	return nil
}

func (f *file) put(tx *bbolt.Tx, c entry) error {
	id, number := idKey(c.ID), seqKey(c.Seq)

	items, err := openBucket(tx, bucketOf(c.kind, suffixItems))
	if err != nil {
		return err
	}

	old, err := f.replaced(items, c, id)
	if err != nil {
		return err
	}

	change := f.seal.seal(encodeChange(&c.Change, old), c.kind, placeHistory, number)

	if c.Type == state.Destroyed {
		err = items.Delete(id)
	} else {
		err = items.Put(id, f.seal.seal(append(number[:seqSize:seqSize], c.NowWire...), c.kind, placeItems, id))
	}

	if err != nil {
		return err
	}

	return addChange(tx, c.kind, number, change, f.history)
}

// replaced returns the stored form of the version that a change replaces, nil for none.
func (f *file) replaced(items *bbolt.Bucket, c entry, id []byte) ([]byte, error) {
	if c.Type == state.Created {
		return nil, nil
	}

	value, err := f.seal.open(items.Get(id), c.kind, placeItems, id)
	if err != nil {
		return nil, fmt.Errorf("the version that it replaces: %w", err)
	}

	if len(value) <= seqSize || seqOf(value) != c.OldSeq {
		return nil, errors.New("the version that it replaces is missing")
	}

	return value[seqSize:], nil
}

// encodeChange is type, number of the replaced version, length of the id, id, replaced version.
func encodeChange(c *memory.Change, old []byte) []byte {
	b := make([]byte, 0, 1+seqSize+binary.MaxVarintLen32+len(c.ID)+len(old))
	b = binary.BigEndian.AppendUint64(append(b, byte(c.Type)), c.OldSeq)
	b = append(binary.AppendUvarint(b, uint64(len(c.ID))), c.ID...)

	return append(b, old...)
}
