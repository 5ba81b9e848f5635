// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

func open(t testing.TB, path string, opts ...bolt.Option) *bolt.Store {
	t.Helper()

	st, err := bolt.Open(path, opts...)
	ok(t, err)
	t.Cleanup(func() { st.Close() }) // closed twice in some tests

	return st
}

func ok(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

var key = bytes.Repeat([]byte{7}, 32)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State {
		t.Helper()

		return open(t, filepath.Join(t.TempDir(), "db"), bolt.WithKey(key))
	})
}

const ns = "n"

func kind() resource.Kind { return resource.KindOf[conformance.ItemSpec](ns) }

func set(t testing.TB, st state.State, id, value string) resource.Resource {
	t.Helper()

	r, err := st.Modify(t.Context(), conformance.NewItem(ns, id, ""), func(r resource.Resource) error {
		r.(conformance.Item).TypedSpec().Value = value

		return nil
	}, state.WithOwner("me"))
	ok(t, err)

	return r
}

// TestReopen: contents, histories and bookmarks are valid after a restart, also resources older than the history.
func TestReopen(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, opts := range map[string][]bolt.Option{
		"plain": {bolt.WithHistory(8)}, "encrypted": {bolt.WithHistory(8), bolt.WithKey(key)},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			st := open(t, path, opts...)
			ch := make(chan state.Event, 100)
			ok(t, st.WatchKind(t.Context(), kind(), ch))

			for i := range 20 {
				set(t, st, fmt.Sprint(i%7), fmt.Sprint("value ", i))
			}

			ok(t, st.AddFinalizer(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, "1"), "f"))
			ok(t, st.Destroy(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, "2"), state.WithOwner("me")))
			set(t, st, "2", "again")

			var events []state.Event
			for range 23 {
				events = append(events, <-ch)
			}

			before, err := st.List(t.Context(), kind())
			ok(t, err)
			ok(t, st.Close())

			again := open(t, path, opts...)
			after, err := again.List(t.Context(), kind())
			ok(t, err)

			if len(after) != len(before) {
				t.Fatalf("got %d items, want %d", len(after), len(before))
			}

			for i := range before {
				if !resource.Equal(before[i], after[i]) || !before[i].Metadata().Created().Equal(after[i].Metadata().Created()) {
					t.Errorf("got %v %v, want %v", after[i].Metadata(), after[i].Spec(), before[i].Metadata())
				}
			}

			for i, from := range events {
				ch := make(chan state.Event, 100)
				err := again.WatchKind(t.Context(), kind(), ch, state.WithKindStartFromBookmark(from.Bookmark))

				if i < len(events)-9 {
					if !state.IsInvalidBookmark(err) {
						t.Errorf("resume at event %d: got %v, want an invalid bookmark", i, err)
					}

					continue
				}

				ok(t, err)

				for _, want := range events[i+1:] {
					got := <-ch
					if got.Type != want.Type || !resource.Equal(got.Resource, want.Resource) || !bytes.Equal(got.Bookmark, want.Bookmark) ||
						(got.Old == nil) != (want.Old == nil) || got.Old != nil && !resource.Equal(got.Old, want.Old) {
						t.Errorf("resume at event %d: got %d of %v, want %d of %v", i, got.Type, got.Resource.Metadata(), want.Type, want.Resource.Metadata())
					}
				}
			}

			if r := set(t, again, "1", "goes on"); r.Metadata().Version() != 5 {
				t.Errorf("got version %d, want 5", r.Metadata().Version())
			}
		})
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	sealed, plain := filepath.Join(dir, "sealed"), filepath.Join(dir, "plain")

	st := open(t, sealed, bolt.WithKey(key))
	set(t, st, "a", "a secret")

	raw, err := os.ReadFile(sealed + ".log")
	ok(t, err)
	ok(t, st.Close())

	rest, err := os.ReadFile(sealed)
	ok(t, err)

	if bytes.Contains(append(raw, rest...), []byte("a secret")) {
		t.Error("the files show what should be encrypted")
	}

	st = open(t, plain)
	set(t, st, "a", "no secret")
	ok(t, st.Close())

	for _, tt := range []struct {
		path, want string
		opts       []bolt.Option
	}{
		{sealed, "a key is needed", nil},
		{sealed, "another key", []bolt.Option{bolt.WithKey(bytes.Repeat([]byte{8}, 32))}},
		{sealed, "31 bytes", []bolt.Option{bolt.WithKey(key[:31])}},
		{plain, "not encrypted", []bolt.Option{bolt.WithKey(key)}},
		{dir, "directory", nil},
	} {
		if st, err := bolt.Open(tt.path, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, %v, want %q", st, err, tt.want)
		}
	}

	open(t, plain)

	if _, err := bolt.Open(plain); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
}

// TestDamage changes, truncates and swaps stored values: opening fails with an error that names the place, or the contents are
// the same as before.
func TestDamage(t *testing.T) {
	for name, opts := range map[string][]bolt.Option{"plain": nil, "encrypted": {bolt.WithKey(key)}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			st := open(t, path, opts...)
			set(t, st, "a", "1")
			set(t, st, "b", "1")
			set(t, st, "b", "2")
			ok(t, st.Close())

			whole, err := os.ReadFile(path)
			ok(t, err)

			for what, damage := range map[string]func(items, history *bbolt.Bucket) error{
				"cut item":     func(items, _ *bbolt.Bucket) error { return items.Put([]byte("/a"), items.Get([]byte("/a"))[:5]) },
				"empty item":   func(items, _ *bbolt.Bucket) error { return items.Put([]byte("/a"), nil) },
				"foreign item": func(items, _ *bbolt.Bucket) error { return items.Put([]byte("/a"), items.Get([]byte("/b"))) },
				"lost item":    func(items, _ *bbolt.Bucket) error { return items.Delete([]byte("/a")) },
				"unknown form": func(items, _ *bbolt.Bucket) error { return items.Put([]byte("/a"), []byte{9, 9}) },
				"lost change": func(_, history *bbolt.Bucket) error {
					k, _ := history.Cursor().Seek([]byte{0, 0, 0, 0, 0, 0, 0, 2})

					return history.Delete(k)
				},
				"cut change": func(_, history *bbolt.Bucket) error {
					k, v := history.Cursor().First()

					return history.Put(k, v[:3])
				},
			} {
				broken := filepath.Join(t.TempDir(), "db")
				ok(t, os.WriteFile(broken, whole, 0o600))

				db, err := bbolt.Open(broken, 0o600, nil)
				ok(t, err)
				ok(t, db.Update(func(tx *bbolt.Tx) error {
					name, _ := tx.Cursor().Seek([]byte("kind/"))
					part := func(suffix byte) *bbolt.Bucket { return tx.Bucket(append(bytes.Clone(name[:len(name)-1]), suffix)) }

					return damage(part('i'), part('h'))
				}))
				ok(t, db.Close())

				if st, err := bolt.Open(broken, opts...); err == nil {
					t.Errorf("%s: opened", what)
					st.Close() // it should not have opened
				} else if !strings.Contains(err.Error(), broken) {
					t.Errorf("%s: %v does not name the file", what, err)
				}
			}
		})
	}
}

func TestClosed(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "db"))

	var wg sync.WaitGroup

	for i := range 50 {
		wg.Go(func() {
			err := st.Create(t.Context(), conformance.NewItem(ns, fmt.Sprint(i), ""))

			// An acknowledged write is stored, a refused one is not.
			if _, getErr := st.Get(t.Context(), resource.PointerOf[conformance.ItemSpec](ns, fmt.Sprint(i))); (err == nil) != (getErr == nil) {
				t.Errorf("create: %v, get: %v", err, getErr)
			}
		})
	}

	time.Sleep(time.Millisecond)
	ok(t, st.Close())
	wg.Wait()

	if err := st.Create(t.Context(), conformance.NewItem(ns, "late", "")); err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want that the store is closed", err)
	}
}

func BenchmarkWriters(b *testing.B) {
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st := open(b, filepath.Join(b.TempDir(), "db"))
			next := make(chan int, n)

			var wg sync.WaitGroup

			for w := range n {
				r := conformance.NewItem(ns, fmt.Sprint(w), "")
				ok(b, st.Create(b.Context(), r))

				wg.Go(func() {
					for range next {
						if err := st.Update(b.Context(), r); err != nil {
							b.Error(err)
						}
					}
				})
			}

			b.ResetTimer()

			for i := range b.N {
				next <- i
			}

			close(next)
			wg.Wait()
		})
	}
}
