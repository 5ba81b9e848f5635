// SPDX-License-Identifier: Apache-2.0

package powercut_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/test/powercut"
)

func put(t *testing.T, d *powercut.Disk, text string, offset int64) {
	t.Helper()

	if _, err := d.WriteAt([]byte(text), offset); err != nil {
		t.Fatal(err)
	}
}

// TestStates checks which of four writes may be there after a cut.
func TestStates(t *testing.T) {
	d := powercut.New(8 << 10)

	put(t, d, "before", 0)
	d.Forget()
	put(t, d, "a", 1024)
	d.Sync()
	put(t, d, "b", 2048)
	put(t, d, "c", 3072)

	seen := map[string]bool{}

	for s := range d.States(rand.New(rand.NewPCG(1, 2)), 50) {
		b := make([]byte, s.Size())
		if _, err := s.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}

		if !bytes.HasPrefix(b, []byte("before")) {
			t.Fatal("what was forgotten is gone")
		}

		seen[string([]byte{'-' + b[1024], '-' + b[2048], '-' + b[3072]})] = true

		put(t, s.Disk, "x", 0) // the next state does not see it
	}

	at := func(text string) string {
		return string([]byte{'-' + text[0], '-' + text[1], '-' + text[2]})
	}

	for text, want := range map[string]bool{
		"\x00\x00\x00": true, "a\x00\x00": true, "ab\x00": true, "a\x00c": true, "abc": true,
		"\x00b\x00": false, "\x00bc": false, // before the flush of a
	} {
		if seen[at(text)] != want {
			t.Errorf("%q: got %v, want %v", text, !want, want)
		}
	}
}

func TestLimits(t *testing.T) {
	d := powercut.New(4096)
	put(t, d, "hello", 510) // over two sectors

	b := make([]byte, 5)
	if _, err := d.ReadAt(b, 510); err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v", b, err)
	}

	if _, err := d.WriteAt(slices.Repeat([]byte{1}, 10), 4090); err == nil {
		t.Error("a write beyond the end succeeded")
	}

	d.Writable = 600
	if n, err := d.WriteAt(make([]byte, 2048), 0); !errors.Is(err, powercut.ErrFull) || n != 512 {
		t.Errorf("got %d, %v; want one sector", n, err)
	}
}
