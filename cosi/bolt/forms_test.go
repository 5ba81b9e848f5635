// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// nest converts a file to its first form.
func nest(t *testing.T, path string) {
	t.Helper()

	db, err := bbolt.Open(path, 0o600, nil)
	ok(t, err)

	ok(t, db.Update(func(tx *bbolt.Tx) error {
		var flat [][]byte

		for c, k := tx.Cursor(), []byte(nil); ; {
			if k == nil {
				k, _ = c.Seek([]byte("kind/"))
			} else {
				k, _ = c.Next()
			}

			if !bytes.HasPrefix(k, []byte("kind/")) {
				break
			}

			flat = append(flat, bytes.Clone(k))
		}

		kinds, err := tx.CreateBucket([]byte("kinds"))
		ok(t, err)

		for _, name := range flat {
			kind, err := kinds.CreateBucketIfNotExists(name[len("kind/") : len(name)-1])
			ok(t, err)

			part, err := kind.CreateBucketIfNotExists([]byte(map[byte]string{'i': "items", 'h': "history"}[name[len(name)-1]]))
			ok(t, err)
			ok(t, tx.Bucket(name).ForEach(part.Put))
			ok(t, tx.DeleteBucket(name))
		}

		return nil
	}))
	ok(t, db.Close())
}

// splitOff converts a file to its second form.
func splitOff(t *testing.T, path string) {
	t.Helper()

	db, err := bbolt.Open(path, 0o600, nil)
	ok(t, err)

	ok(t, db.Update(func(tx *bbolt.Tx) error {
		name, _ := tx.Cursor().Seek([]byte("kind/"))
		name = name[:len(name)-1]
		history := tx.Bucket(append(bytes.Clone(name), 'h'))
		tail, err := tx.CreateBucket(append(bytes.Clone(name), 't'))
		ok(t, err)

		for range 3 {
			k, v := history.Cursor().Last()
			ok(t, tail.Put(k, v))
			ok(t, history.Delete(k))
		}

		// A sealed epoch stays as it is.
		meta := tx.Bucket([]byte("meta"))
		if epoch := meta.Get([]byte("epoch")); epoch[0] == 0 {
			return meta.Put([]byte("epoch"), append([]byte{0}, epoch[2:]...))
		}

		return nil
	}))
	ok(t, db.Close())
}

// TestEarlierForms opens files of earlier forms: contents and bookmarks are valid, and the file stays readable.
func TestEarlierForms(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for form, convert := range map[string]func(*testing.T, string){"nested": nest, "tails": splitOff} {
		earlierForm(t, form+", plain", convert)
		earlierForm(t, form+", encrypted", convert, bolt.WithKey(key))
	}
}

func earlierForm(t *testing.T, name string, convert func(*testing.T, string), opts ...bolt.Option) {
	t.Helper()

	t.Run(name, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "db")
		st := open(t, path, opts...)
		ch := make(chan state.Event, 100)
		ok(t, st.WatchKind(t.Context(), kind(), ch))

		for i := range 20 {
			set(t, st, fmt.Sprint(i%7), fmt.Sprint("value ", i))
		}

		ok(t, st.Create(t.Context(), conformance.NewItem("other", "a", "b")))
		ok(t, st.Close())

		first := <-ch

		convert(t, path)

		for range 2 {
			st = open(t, path, opts...)

			items, err := st.List(t.Context(), kind())
			if err != nil || len(items) != 7 {
				t.Errorf("got %d items (%v), want 7", len(items), err)
			}

			if _, err := st.Get(t.Context(), resource.PointerOf[conformance.ItemSpec]("other", "a")); err != nil {
				t.Error(err)
			}

			again := make(chan state.Event, 100)
			ok(t, st.WatchKind(t.Context(), kind(), again, state.WithKindStartFromBookmark(first.Bookmark)))

			if ev := <-again; ev.Resource.Metadata().ID() != "1" {
				t.Errorf("the event after the first is of %q, want 1", ev.Resource.Metadata().ID())
			}

			ok(t, st.Close())
		}
	})
}

// TestLaterForm: a file of a form that a later version wrote is refused, not read in part.
func TestLaterForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	ok(t, open(t, path).Close())

	db, err := bbolt.Open(path, 0o600, nil)
	ok(t, err)
	ok(t, db.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		epoch := bytes.Clone(meta.Get([]byte("epoch")))
		epoch[1]++

		return meta.Put([]byte("epoch"), epoch)
	}))
	ok(t, db.Close())

	if _, err := bolt.Open(path); err == nil || !strings.Contains(err.Error(), "a later version") {
		t.Errorf("got %v, want that a later version wrote it", err)
	}
}
