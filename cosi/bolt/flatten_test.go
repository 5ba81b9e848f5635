// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"bytes"
	"fmt"
	"path/filepath"
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

			part, err := kind.CreateBucketIfNotExists([]byte(map[byte]string{'i': "items", 'h': "history", 't': "history"}[name[len(name)-1]]))
			ok(t, err)
			ok(t, tx.Bucket(name).ForEach(part.Put))
			ok(t, tx.DeleteBucket(name))
		}

		return nil
	}))
	ok(t, db.Close())
}

// TestFirstForm opens a file with nested buckets: contents and bookmarks are valid, and the file stays readable.
func TestFirstForm(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, opts := range map[string][]bolt.Option{"plain": nil, "encrypted": {bolt.WithKey(key)}} {
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

			nest(t, path)

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
}
