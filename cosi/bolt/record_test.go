// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// FuzzRecord reads arbitrary bytes as stored values.
func FuzzRecord(f *testing.F) {
	if err := resource.Register[conformance.ItemSpec](); err != nil {
		f.Fatal(err)
	}

	wire, err := resource.MarshalWire(conformance.NewItem("n", "a", "v"))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(encodeChange(&memory.Change{ID: "a", Type: state.Updated, OldSeq: 3}, wire))
	f.Add(append(seqKey(7), wire...))
	e := entry{
		Change: memory.Change{ID: "a", Type: state.Updated, Seq: 4, OldSeq: 3, NowWire: wire},
		kind:   kindKey(resource.Kind{Namespace: "n", Type: "t"}),
	}
	generation := [8]byte{1, 2, 3}
	changes := encodeEntries([]entry{e, e})

	f.Add(e.append(nil))
	f.Add(changes)
	f.Add(encodeRecord(generation, 0, changes))
	f.Add(append(encodeRecord(generation, 0, changes), encodeRecord(generation, 1, changes)...))
	f.Add([]byte{})

	seal, err := newSealer(bytes.Repeat([]byte{1}, keySize))
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, b []byte) {
		plain := &file{seal: &sealer{}}

		if item, err := plain.readItem([]byte("/a"), b, nil); err == nil && item.Resource == nil {
			t.Error("an item without a resource")
		}

		if c, err := decodeChange(b); err == nil {
			var old []byte

			if c.Old != nil {
				if old, err = resource.MarshalWire(c.Old); err != nil {
					t.Fatal(err)
				}
			}

			if again, err := decodeChange(encodeChange(&c, old)); err != nil || again.ID != c.ID || again.OldSeq != c.OldSeq {
				t.Errorf("got %+v (%v), want %+v", again, err, c)
			}
		}

		if all, err := decodeEntries(b); err == nil {
			if again, err := decodeEntries(encodeEntries(all)); err != nil || !reflect.DeepEqual(again, all) {
				t.Errorf("got %+v (%v), want %+v", again, err, all)
			}
		}

		if all, err := records(b, generation); err == nil {
			var again []byte
			for i, sealed := range all {
				again = append(again, encodeRecord(generation, uint32(i), sealed)...)
			}

			if !bytes.HasPrefix(b, again) {
				t.Errorf("got records %x of %x", all, b)
			}
		}

		if k, err := kindOfKey(b); err == nil {
			if back, err := kindOfKey(kindKey(k)); err != nil || back != k {
				t.Errorf("got %v (%v), want %v", back, err, k)
			}
		}

		if v, err := seal.open(seal.seal(b, []byte("here")), []byte("here")); err != nil || !bytes.Equal(v, b) {
			t.Errorf("got %x (%v), want %x", v, err, b)
		}

		if _, err := seal.open(seal.seal(b, []byte("here")), []byte("there")); err == nil {
			t.Error("a value was opened at another place")
		}
	})
}
