// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/powercut"
)

// disk is a partition in memory whose power fails after a number of written bytes: the write in progress is
// cut there, later ones do not happen.
type disk struct {
	data  [layout.MetaSize]byte
	power int
}

var errPower = errors.New("power is off")

func newDisk() *disk { return &disk{power: 1 << 30} }

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(d.data[:]).ReadAt(p, off)
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	n := min(len(p), d.power)
	d.power -= n
	copy(d.data[off:], p[:n])

	if n < len(p) {
		return n, errPower
	}

	return n, nil
}

func (d *disk) Sync() error { return nil }

func open(t *testing.T, d *disk) *meta.Store {
	t.Helper()

	s, err := meta.Open(d)
	if err != nil {
		t.Fatal(err)
	}

	return s
}

func TestValuesSurvive(t *testing.T) {
	d := newDisk()
	s := open(t, d)

	long := bytes.Repeat([]byte("x"), 100_000)
	for tag, v := range map[meta.Tag][]byte{meta.Upgrade: []byte("A"), meta.UserReserved1: long, meta.UserReserved2: {}} {
		if err := s.Set(tag, v); err != nil {
			t.Fatal(err)
		}
	}

	if err := s.Delete(meta.Upgrade); err != nil {
		t.Fatal(err)
	}

	want := map[meta.Tag][]byte{meta.UserReserved1: long, meta.UserReserved2: {}}
	if diff := cmp.Diff(want, open(t, d).Values()); diff != "" {
		t.Errorf("after reopening (-want +got):\n%s", diff)
	}
}

// The power is cut after each byte of a write in turn: then the value is the old or the new one.
func TestPowerCut(t *testing.T) {
	for cut := 0; cut < 2000; cut += 7 {
		d := newDisk()
		s := open(t, d)

		for _, v := range []string{"one", "two", "three"} {
			if err := s.Set(meta.UserReserved1, []byte(v)); err != nil {
				t.Fatal(err)
			}
		}

		d.power = cut
		err := s.Set(meta.UserReserved1, []byte("four"))
		d.power = 1 << 30

		got, _ := open(t, d).Get(meta.UserReserved1)
		if g := string(got); g != "three" && g != "four" {
			t.Fatalf("cut after %d bytes: got %q, want the old value or the new", cut, g)
		} else if err == nil && g != "four" {
			t.Fatalf("cut after %d bytes: Set succeeded, but the value is %q", cut, g)
		}
	}
}

// TestFirstWrite cuts the power at the first write to an empty META, with any of its sectors lost: there is nothing, or the value.
func TestFirstWrite(t *testing.T) {
	d := powercut.New(layout.MetaSize)

	s, err := meta.Open(d)
	if err != nil {
		t.Fatal(err)
	}

	long := strings.Repeat("value ", 500)
	if err := s.Set(meta.Administrators, []byte(long)); err != nil {
		t.Fatal(err)
	}

	seen := map[string]int{}

	for cut := range d.States(rand.New(rand.NewPCG(3, 14)), 100) {
		s, err := meta.Open(cut)
		if err != nil {
			t.Fatalf("after %d flushes, %d sectors kept: %v", cut.Flushes, cut.Kept, err)
		}

		got, _ := s.Get(meta.Administrators)
		seen[string(got)]++
	}

	if len(seen) != 2 || seen[""] == 0 || seen[long] == 0 {
		t.Errorf("got %d different values", len(seen))
	}
}

func TestDamagedSlots(t *testing.T) {
	d := newDisk()
	s := open(t, d)

	for _, v := range []string{"old", "new"} {
		if err := s.Set(meta.UserReserved3, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}

	d.data[256<<10+60] ^= 1 // in the second slot, which has "new"

	if got, _ := open(t, d).Get(meta.UserReserved3); string(got) != "old" {
		t.Errorf("with the newer slot damaged: got %q, want the older", got)
	}

	d.data[60] ^= 1

	if got, _ := open(t, d).Get(meta.UserReserved3); string(got) != "new" {
		t.Errorf("with both slots damaged: got %q, want the legacy copy's", got)
	}

	d.data[len(d.data)-600] ^= 1
	d.data[len(d.data)-100] ^= 1

	s, err := meta.Open(d)
	if !errors.Is(err, meta.ErrDamaged) {
		t.Fatalf("with everything damaged: got %v, want ErrDamaged", err)
	}

	if err := s.Set(meta.Upgrade, []byte("x")); err != nil {
		t.Fatal(err)
	}

	if got, _ := open(t, d).Get(meta.Upgrade); string(got) != "x" {
		t.Errorf("after a write to a damaged META: got %q, want x", got)
	}
}

func TestTooMuch(t *testing.T) {
	s := open(t, newDisk())
	if err := s.Set(meta.UserReserved1, make([]byte, 300<<10)); err == nil {
		t.Error("a value larger than the partition's slot was accepted")
	}

	if got := s.Values(); len(got) != 0 {
		t.Errorf("after a refused value: got %d values, want none", len(got))
	}
}

func TestShortPartition(t *testing.T) {
	if _, err := meta.Open(short{newDisk()}); err == nil {
		t.Error("a partition that ends early was accepted")
	}
}

type short struct{ *disk }

func (short) ReadAt([]byte, int64) (int, error) { return 10, io.EOF }

func FuzzOpen(f *testing.F) {
	d := newDisk()
	if s, err := meta.Open(d); err == nil {
		_ = s.Set(meta.Upgrade, []byte("A"))
	}

	f.Add(d.data[:100], d.data[len(d.data)-1024:])
	f.Add([]byte("TALOSADV\xff"), []byte{})

	f.Fuzz(func(t *testing.T, head, tail []byte) {
		d := newDisk()
		copy(d.data[:], head)
		copy(d.data[max(0, len(d.data)-len(tail)):], tail)

		s, err := meta.Open(d)
		if err != nil && !errors.Is(err, meta.ErrDamaged) {
			t.Fatalf("unexpected error: %v", err)
		}

		before := s.Values()
		if err := s.Set(meta.UserReserved1, []byte("v")); err != nil {
			t.Skip("too much for a slot")
		}

		before[meta.UserReserved1] = []byte("v")

		if diff := cmp.Diff(before, open(t, d).Values()); diff != "" {
			t.Errorf("a write lost values (-want +got):\n%s", diff)
		}
	})
}

// TestWipe cuts the power after some bytes of a wipe: then all values are there, or none. After a whole wipe nothing of them is on the disk.
func TestWipe(t *testing.T) {
	for cut := 0; cut < 1200<<10; cut += 16381 {
		d := newDisk()
		s := open(t, d)

		// The older slot and the legacy copy have values, too.
		for i := range 2 + cut%2 {
			if err := s.Set(meta.UserReserved1, []byte{'s', 'e', 'c', 'r', 'e', 't', byte('0' + i)}); err != nil {
				t.Fatal(err)
			}
		}

		d.power = cut
		err := s.Wipe()
		d.power = 1 << 30

		values := open(t, d).Values()
		if string(values[meta.UserReserved1]) != "secret1" && string(values[meta.UserReserved1]) != "secret2" && len(values) > 0 {
			t.Fatalf("cut after %d bytes: got %q", cut, values)
		}

		if err != nil {
			continue
		}

		if len(values)+len(s.Values()) > 0 || bytes.Contains(d.data[:], []byte("secret")) {
			t.Fatalf("cut after %d bytes, and so not at all: got %q, %q", cut, values, s.Values())
		}

		if err := s.Set(meta.UserReserved2, []byte("new")); err != nil {
			t.Fatal(err)
		}

		if got := open(t, d).Values(); len(got) != 1 || string(got[meta.UserReserved2]) != "new" {
			t.Fatalf("a value after the wipe: got %q", got)
		}
	}
}
