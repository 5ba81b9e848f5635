// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// read returns the contents of the file. A new file gets the epoch fresh.
func (f *file) read(fresh [memory.EpochSize]byte) (memory.Contents, error) {
	contents := memory.Contents{Epoch: fresh, Kinds: map[resource.Kind]*memory.KindContents{}}

	err := f.db.Update(func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(bucketMeta)
		if err != nil {
			return err
		}

		if err := f.readEpoch(meta, &contents.Epoch); err != nil {
			return err
		}

		if err := upgrade(tx); err != nil {
			return err
		}

		if err := f.replay(tx, meta); err != nil {
			return err
		}

		if err := f.beginLog(meta); err != nil {
			return err
		}

		return tx.ForEach(func(bucket []byte, _ *bbolt.Bucket) error {
			name, ok := kindOfBucket(bucket)
			if !ok {
				return nil
			}

			kind, err := kindOfKey(name)
			if err != nil {
				return err
			}

			// A kind has several buckets; it is read at the first of them.
			if contents.Kinds[kind] != nil {
				return nil
			}

			found, err := f.readKind(tx.Bucket(bucketOf(name, suffixItems)), tx.Bucket(bucketOf(name, suffixHistory)), name)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}

			contents.Kinds[kind] = found

			return nil
		})
	})

	return contents, err
}

// readEpoch also checks the key: it fails with a wrong one.
func (f *file) readEpoch(meta *bbolt.Bucket, epoch *[memory.EpochSize]byte) error {
	if stored := meta.Get(keyEpoch); stored != nil {
		value, err := f.seal.open(stored, bucketMeta, keyEpoch)
		if err != nil {
			return err
		}

		switch {
		case len(value) == len(epoch): // of an earlier form
			copy(epoch[:], value)
		case len(value) != 1+len(epoch):
			return fmt.Errorf("its epoch has %d bytes, expected %d", len(value), 1+len(epoch))
		case value[0] != form:
			return fmt.Errorf("it is of the form %d, which a later version wrote; this one knows the forms up to %d", value[0], form)
		default:
			copy(epoch[:], value[1:])

			return nil
		}
	}

	return meta.Put(keyEpoch, f.seal.seal(append([]byte{form}, epoch[:]...), bucketMeta, keyEpoch))
}

func (f *file) readKind(items, history *bbolt.Bucket, name []byte) (*memory.KindContents, error) {
	out := &memory.KindContents{Items: map[string]memory.Item{}}

	if items == nil || history == nil {
		return nil, errors.New("items or history are missing")
	}

	err := items.ForEach(func(key, stored []byte) error {
		item, err := f.readItem(key, stored, name)
		if err != nil {
			return fmt.Errorf("item %q: %w", key, err)
		}

		md := item.Resource.Metadata()
		if string(kindKey(md.Kind())) != string(name) || string(idKey(md.ID())) != string(key) {
			return fmt.Errorf("item %q: it is of %s", key, md.Pointer())
		}

		out.Items[md.ID()] = item

		return nil
	})
	if err != nil {
		return nil, err
	}

	return out, history.ForEach(func(key, stored []byte) error {
		change, err := f.readChange(key, stored, name)
		if err != nil {
			return fmt.Errorf("change %x: %w", key, err)
		}

		out.History = append(out.History, change)

		return nil
	})
}

const seqSize = 8

func (f *file) readItem(key, stored, name []byte) (memory.Item, error) {
	value, err := f.seal.open(stored, name, placeItems, key)
	if err != nil {
		return memory.Item{}, err
	}

	if len(value) < seqSize {
		return memory.Item{}, errTruncated
	}

	r, err := resource.UnmarshalWire(value[seqSize:], false)

	return memory.Item{Resource: r, Seq: binary.BigEndian.Uint64(value)}, err
}

var errTruncated = errors.New("it is truncated")

func (f *file) readChange(key, stored, name []byte) (memory.Change, error) {
	if len(key) != seqSize {
		return memory.Change{}, errTruncated
	}

	value, err := f.seal.open(stored, name, placeHistory, key)
	if err != nil {
		return memory.Change{}, err
	}

	c, err := decodeChange(value)
	c.Seq = binary.BigEndian.Uint64(key)

	return c, err
}

func decodeChange(b []byte) (c memory.Change, err error) {
	if len(b) < 1+seqSize {
		return c, errTruncated
	}

	c.Type, c.OldSeq = state.EventType(b[0]), binary.BigEndian.Uint64(b[1:])
	b = b[1+seqSize:]

	if c.Type > state.Destroyed {
		return c, fmt.Errorf("it is of the unknown type %d", c.Type)
	}

	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return c, errTruncated
	}

	c.ID, b = string(b[size:size+int(n)]), b[size+int(n):]

	if (len(b) == 0) != (c.Type == state.Created) {
		return c, errTruncated
	}

	if len(b) > 0 {
		c.Old, err = resource.UnmarshalWire(b, false)
	}

	return c, err
}
