// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/test/replay"
)

// TestPut writes states to files, which then have what the states have.
func TestPut(t *testing.T) {
	const size = 64 << 10

	r := recording(t, &replay.Log{SectorSize: 512, Entries: []replay.Entry{
		{Offset: 1024, Length: 9000 / 512 * 512}, {Flags: replay.Flush}, {Offset: 4096, Length: 32 << 10, Flags: replay.Discard},
		{Offset: 8192, Length: 512}, {Flags: replay.Flush},
	}}, size)
	before := []byte(strings.Repeat("o", size))
	seen := map[byte]bool{}

	for s := range r.States(rand.New(rand.NewPCG(1, 2)), 0, 9, 10) {
		path := filepath.Join(t.TempDir(), "disk")
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}

		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		if err := s.Put(f); err != nil {
			t.Fatal(err)
		}

		want := make([]byte, size)
		if _, err := s.ReadAt(want, 0); err != nil {
			t.Fatal(err)
		}

		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		for at := 0; at < size; at += 512 {
			if w, g := want[at:at+512], got[at:at+512]; !bytes.Equal(w, g) && !(bytes.Contains(w, []byte("discarded")) && bytes.Equal(g, before[:512])) {
				t.Fatalf("%s: at %d: got %q, want %q", s, at, g[:9], w[:9])
			}

			seen[got[at]] = true
		}
	}

	for _, b := range slices.Concat([]byte("oad"), []byte{0}) {
		if !seen[b] {
			t.Errorf("no file has %q", b)
		}
	}
}
