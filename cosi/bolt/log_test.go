// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// crash returns the path of a copy of the files of an open store, as a crash leaves them.
func crash(t *testing.T, path string) string {
	t.Helper()

	copied := filepath.Join(t.TempDir(), "db")

	for _, suffix := range []string{"", ".log"} {
		b, err := os.ReadFile(path + suffix)
		ok(t, err)
		ok(t, os.WriteFile(copied+suffix, b, 0o600))
	}

	return copied
}

// TestRestartAtAnyChange closes a store after each number of changes, or lets it crash: contents and events are the same as before. Some
// resources are too large for the log, so it begins again now and then.
func TestRestartAtAnyChange(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, opts := range map[string][]bolt.Option{"plain": nil, "encrypted": {bolt.WithKey(key)}} {
		for changes := 1; changes < 40; changes++ {
			t.Run(fmt.Sprint(name, ", ", changes, " changes"), func(t *testing.T) {
				t.Parallel()

				path := filepath.Join(t.TempDir(), "db")
				st := open(t, path, opts...)
				ch := make(chan state.Event, 100)
				ok(t, st.WatchKind(t.Context(), kind(), ch))

				seed := rand.Uint64()
				random := rand.New(rand.NewPCG(seed, 0))

				for range changes {
					change(t, st, random)
				}

				var events []state.Event
				for range changes {
					events = append(events, <-ch)
				}

				want, err := st.List(t.Context(), kind())
				ok(t, err)

				crashed := crash(t, path)
				ok(t, st.Close())

				if _, err := os.Stat(path + ".log"); err == nil {
					t.Error("the log was not removed")
				}

				for _, path := range []string{path, path, crashed, crashed} {
					st = open(t, path, opts...)

					got, err := st.List(t.Context(), kind())
					ok(t, err)

					if len(got) != len(want) {
						t.Fatalf("seed %d: got %d resources, want %d", seed, len(got), len(want))
					}

					for i := range want {
						if !resource.Equal(got[i], want[i]) {
							t.Errorf("seed %d: got %v, want %v", seed, got[i].Metadata(), want[i].Metadata())
						}
					}

					again := make(chan state.Event, 100)
					ok(t, st.WatchKind(t.Context(), kind(), again, state.WithKindStartFromBookmark(events[0].Bookmark)))

					for i, want := range events[1:] {
						if got := <-again; got.Type != want.Type || !resource.Equal(got.Resource, want.Resource) ||
							(got.Old == nil) != (want.Old == nil) || got.Old != nil && !resource.Equal(got.Old, want.Old) {
							t.Errorf("seed %d: event %d is %d of %v, want %d of %v", seed, i+1,
								got.Type, got.Resource.Metadata(), want.Type, want.Resource.Metadata())
						}
					}

					ok(t, st.Close())
				}
			})
		}
	}
}

// change changes one of four resources: it creates, updates or destroys it.
func change(t *testing.T, st state.State, random *rand.Rand) {
	t.Helper()

	id := fmt.Sprint(random.IntN(4))
	ptr := resource.PointerOf[conformance.ItemSpec](ns, id)

	if _, err := st.Get(t.Context(), ptr); err == nil && random.IntN(4) == 0 {
		ok(t, st.Destroy(t.Context(), ptr, state.WithOwner("me")))

		return
	}

	value := fmt.Sprint(random.Uint64())
	if random.IntN(8) == 0 {
		value = strings.Repeat(value, 1000*(1+random.IntN(4)))
	}

	set(t, st, id, value)
}

// logOf returns the path of a crashed store with three records in its log, and the offsets at which they begin and the last one ends.
func logOf(t *testing.T, opts ...bolt.Option) (path string, offsets []int) {
	t.Helper()

	const header = 20

	path = filepath.Join(t.TempDir(), "db")
	st := open(t, path, opts...)

	for i := range 3 {
		set(t, st, "a", fmt.Sprint(i))
	}

	path = crash(t, path)
	ok(t, st.Close())

	b, err := os.ReadFile(path + ".log")
	ok(t, err)

	offsets = []int{0}

	for at := 0; len(offsets) < 4; offsets = append(offsets, at) {
		at += header + int(binary.BigEndian.Uint32(b[at+12:]))
	}

	return path, offsets
}

// TestCutLog: a log that a crash cut off anywhere has the changes before.
func TestCutLog(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	path, offsets := logOf(t)

	whole, err := os.ReadFile(path + ".log")
	ok(t, err)

	for cut := 0; cut <= offsets[3]; cut++ {
		copied := crash(t, path)

		written := append([]byte(nil), whole[:cut]...)
		if cut%2 == 0 {
			written = append(written, make([]byte, len(whole)-cut)...) // the rest was not written
		}

		ok(t, os.WriteFile(copied+".log", written, 0o600))

		st := open(t, copied)

		want := "" // the last value
		for i, end := range offsets[1:] {
			if cut >= end {
				want = fmt.Sprint(i)
			}
		}

		got := ""
		if r, err := st.Get(t.Context(), kind().Pointer("a")); err == nil {
			got = r.(conformance.Item).TypedSpec().Value
		}

		if got != want {
			t.Errorf("cut at %d of %v: got %q, want %q", cut, offsets, got, want)
		}

		ok(t, st.Close())
	}
}

// TestDamagedLog: damage before the last record is an error, and changes nothing. Damage to the last one is not told from a write that a crash
// cut off.
func TestDamagedLog(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	for name, opts := range map[string][]bolt.Option{"plain": nil, "encrypted": {bolt.WithKey(key)}} {
		path, offsets := logOf(t, opts...)

		for at := range offsets[2] {
			copied := crash(t, path)

			b, err := os.ReadFile(copied + ".log")
			ok(t, err)
			b[at] ^= 1 << rand.IntN(8)
			ok(t, os.WriteFile(copied+".log", b, 0o600))

			before, err := os.ReadFile(copied)
			ok(t, err)

			_, err = bolt.Open(copied, opts...)
			if err == nil || !strings.Contains(err.Error(), copied+".log") || !strings.Contains(err.Error(), "is damaged, and record") {
				t.Fatalf("%s: damage at %d of %v: got %v, want an error that names the file", name, at, offsets, err)
			}

			if after, err := os.ReadFile(copied); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s: damage at %d: the store has changed (%v)", name, at, err)
			}
		}
	}
}

// TestLogOfAnother: a log that belongs to another time of the store is not read.
func TestLogOfAnother(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	path, _ := logOf(t)
	remains, err := os.ReadFile(path + ".log")
	ok(t, err)

	st := open(t, path) // stores the changes, and begins the log again
	ok(t, st.Destroy(t.Context(), kind().Pointer("a"), state.WithOwner("me")))

	// The crash came before the first write to the log of that time.
	copied := crash(t, path)
	ok(t, os.WriteFile(copied+".log", remains, 0o600))
	ok(t, st.Close())

	for _, path := range []string{path, copied} {
		st := open(t, path)
		_, err := st.Get(t.Context(), kind().Pointer("a"))

		if path == copied && err != nil {
			t.Errorf("the changes before the crash are missing: %v", err)
		}

		if path != copied && !state.IsNotFound(err) {
			t.Errorf("got %v, want that it was destroyed", err)
		}

		ok(t, st.Close())
	}
}

// TestMissingLog: a store whose log is missing after a crash is not opened as if nothing were lost.
func TestMissingLog(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	path, _ := logOf(t)
	ok(t, os.Remove(path+".log"))

	for range 2 {
		if _, err := bolt.Open(path); err == nil || !strings.Contains(err.Error(), path+".log, which is missing") {
			t.Fatalf("got %v, want that the log is missing", err)
		}
	}

	// What the message says.
	ok(t, os.WriteFile(path+".log", nil, 0o600))
	ok(t, open(t, path).Close())
}

// TestWithoutRoom: on a full disk changes go to the file itself, which has room.
func TestWithoutRoom(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	path := filepath.Join(t.TempDir(), "db")
	ok(t, open(t, path).Close())
	ok(t, os.Symlink("/dev/full", path+".log"))

	st := open(t, path)
	set(t, st, "a", "v")

	again := filepath.Join(t.TempDir(), "db")
	b, err := os.ReadFile(path)
	ok(t, err)
	ok(t, os.WriteFile(again, b, 0o600))

	if r, err := open(t, again).Get(t.Context(), kind().Pointer("a")); err != nil || r.(conformance.Item).TypedSpec().Value != "v" {
		t.Errorf("got %v (%v), want the change", r, err)
	}
}
