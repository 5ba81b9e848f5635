// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/test/replay"
)

const (
	mib = 1 << 20
	// efiSize gives clusters of 4 KiB, as on a machine.
	efiSize  = 300 * mib
	cacheLen = 2 * mib
	diskSize = efiSize + layout.MetaSize + cacheLen + layout.StateSize + layout.EphemeralMinSize + 8*mib
)

// random returns bytes that are the same in each run.
func random(seed uint64, size int) []byte {
	var key [32]byte
	key[0] = byte(seed)

	b := make([]byte, size)
	rand.NewChaCha8(key).Read(b)

	return b
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)

	return hex.EncodeToString(sum[:])
}

// system is what an installation writes.
type system struct {
	content install.Content
	// files and cache are the digests of what a whole one has.
	files map[string]string
	cache string
}

func systemOf(t *testing.T, seed uint64, version string) system {
	t.Helper()

	cache := install.Bytes(random(seed+1, cacheLen-mib/2))
	uki := install.Bytes(random(seed+2, mib+1234))

	fresh, err := loader.New(install.Bytes(random(seed+3, 90_000)), loader.System{Version: version, UKI: uki, Cmdline: "quiet"}, []string{"quiet", "x=y"})
	if err != nil {
		t.Fatal(err)
	}

	s := system{content: install.Content{EFI: fresh.Files, ImageCache: &cache, Time: time.Unix(1700000000, 0)}}
	s.files, s.cache = map[string]string{}, digest(append(random(seed+1, cacheLen-mib/2), make([]byte, mib/2)...))

	for _, f := range fresh.Files {
		s.files[f.Path] = f.SHA256
	}

	return s
}

func request(wipe bool) install.Request {
	return install.Request{Firmware: install.UEFI, EFISize: efiSize, ImageCache: cacheLen, Wipe: wipe}
}

// again installs to the disk that a cut left, as the next start of the medium does. Of most states it only plans that, which takes less time.
func again(t *testing.T, s *replay.State, wipe bool, sys system) error {
	t.Helper()

	d := install.Disk{Name: "disk", Size: uint64(s.Size()), SectorSize: 512}
	if err := d.Probe(s); err != nil {
		return err
	}

	plan, err := install.For(d, request(wipe))
	if err != nil || (s.Entry+s.Kept)%oneOf != 0 {
		return err
	}

	if err := install.Write(t.Context(), s, plan, sys.content, nil); err != nil {
		return err
	}

	sums := replay.Sums{}

	found, err := s.Look(sums)
	if err == nil && (found.Meta == nil || !sys.is(t, s, found, sums)) {
		err = errors.New("the second installation is not whole")
	}

	return err
}

// is reports whether a disk has all of a system.
func (s system) is(t *testing.T, state *replay.State, found *replay.Found, sums replay.Sums) bool {
	t.Helper()

	cache, err := state.Content(found.Table, layout.PartitionImageCache, sums)
	if err != nil {
		t.Error(err)
	}

	return s.boots(found) && cache == s.cache
}

// TestInstall records installations to a disk: an empty one, and then over the system that is there. Whenever the power is cut, the disk has
// one whole system, or none; then the machine, which starts from its medium again, installs to it without more permission than before.
func TestInstall(t *testing.T) {
	first, second := systemOf(t, 1, "v1.0.0"), systemOf(t, 11, "v2.0.0")

	r := replay.Record(t, diskSize)
	path, closed := r.Device(0, diskSize)
	put := func(wipe bool, s system) int {
		t.Helper()

		if err := install.To(t.Context(), disk.Sys, path, request(wipe), s.content, nil); err != nil {
			t.Fatal(err)
		}

		return r.Entries()
	}

	one := put(false, first)
	used := uses(t, r, path)
	two := put(true, second)

	closed()

	recording := r.Recording()
	t.Logf("%d writes, flushes and discards, %d flushes, %d MiB", len(recording.Log.Entries), recording.Log.Flushes(), recording.Log.Written()>>20)

	for _, tt := range []struct {
		name     string
		from, to int
		before   *system
		sys      system
	}{
		{"to an empty disk", 0, one, nil, first},
		{"over a system", used, two, &first, second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen, start, sums := map[string]int{}, -1, replay.Sums{}

			for s := range recording.States(rand.New(rand.NewPCG(14, 3)), tt.from, tt.to, times) {
				if start < 0 {
					start = s.Flushes
				}

				what, err := verdictOfInstall(t, s, sums, tt.before, tt.sys, s.Flushes > start)
				if err != nil {
					t.Fatalf("%s: %v", s, err)
				}

				seen[what]++
			}

			t.Log(seen)

			if seen["new"] == 0 || seen["unfinished"] == 0 || tt.before != nil && seen["old"] == 0 {
				t.Errorf("states are missing: %v", seen)
			}
		})
	}
}

const (
	// times is how often each sort of state is made between two flushes.
	times = 5
	// oneOf is how many states there are for each that is installed to again.
	oneOf = 20
)

// verdictOfInstall returns what a state is. flushed is set once a flush of this installation has returned.
func verdictOfInstall(t *testing.T, s *replay.State, sums replay.Sums, before *system, sys system, flushed bool) (string, error) {
	t.Helper()

	found, err := s.Look(sums)

	switch {
	case err != nil:
		return "", err
	case found.Meta != nil && sys.is(t, s, found, sums):
		if len(found.Meta) > 0 {
			return "", fmt.Errorf("META has values of the old system: %v", found.Meta)
		}

		return "new", nil
	case found.Meta != nil && before != nil && before.is(t, s, found, sums):
		if flushed {
			return "", errors.New("the old system is there, with its ends wiped")
		}

		return "old", nil
	case found.Meta != nil:
		return "", errors.New("the disk has META, and neither of the systems: " + cmp.Diff(sys.files, found.Files))
	}

	// Before a flush, what is left of the old table is anything: there the permission to wipe is needed, which the administrator has given.
	if err := again(t, s, before != nil && !flushed, sys); err != nil {
		return "", fmt.Errorf("the disk has no system, and it cannot be installed again: %w", err)
	}

	if found.Table == nil {
		return "nothing", nil
	}

	return "unfinished", nil
}

// uses writes to META of an installed disk what a machine does, and returns the number of entries.
func uses(t *testing.T, r *replay.Recorder, path string) int {
	t.Helper()

	f, err := disk.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		t.Fatal(err)
	}

	p, _ := table.Find(layout.PartitionMeta)
	at, _ := r.Device(int64(p.First)*512, layout.MetaSize)

	device, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()

	values, err := meta.Open(device)
	if err != nil {
		t.Fatal(err)
	}

	for range 3 {
		if err := values.Set(meta.Trial, bytes.Repeat([]byte("x"), 5000)); err != nil {
			t.Fatal(err)
		}

		if err := values.Delete(meta.Trial); err != nil {
			t.Fatal(err)
		}

		if err := values.Set(meta.UserReserved1, []byte("of the old system")); err != nil {
			t.Fatal(err)
		}
	}

	return r.Entries()
}
