// SPDX-License-Identifier: Apache-2.0

package install_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/test/powercut"
)

// small is a request for tests, and size that of its disk.
var small = install.Request{Firmware: install.UEFI, EFISize: 36 * mib, ImageCache: mib, Image: true, Wipe: true}

const size = 40 * mib

var (
	kernel = strings.Repeat("kernel ", 50_000)
	cache  = bytes.Repeat([]byte("layer"), 10_000)
)

func content() install.Content {
	archive := install.Bytes(cache)

	return install.Content{
		EFI: []install.File{
			{"/EFI/Linux/Talos-v1.efi", install.Bytes([]byte(kernel))},
			{"/EFI/BOOT/BOOTX64.EFI", install.Bytes([]byte("loader"))},
		},
		ImageCache: &archive, Time: time.Unix(1700000000, 0),
	}
}

func plan(t testing.TB, fresh bool) *install.Plan {
	t.Helper()

	p, err := install.For(install.Disk{Name: "disk", Size: size, SectorSize: 512}, small)
	if err != nil {
		t.Fatal(err)
	}

	p.Fresh = fresh

	return p
}

// whole returns an error if a disk with META does not have everything.
func whole(d io.ReaderAt, table *gpt.Table) error {
	efi, _ := table.Find(layout.PartitionEFI)

	f, err := fat.Open(part{io.NewSectionReader(d, int64(efi.First)*512, int64(efi.Sectors())*512)}, int64(efi.Sectors())*512, time.Time{})
	if err != nil {
		return err
	}

	for path, want := range map[string]string{"/EFI/BOOT/BOOTX64.EFI": "loader", "/EFI/Linux/Talos-v1.efi": kernel} {
		if b, err := f.ReadFile(path, mib); err != nil || string(b) != want {
			return errors.Join(err, errors.New(path+" is not whole"))
		}
	}

	p, _ := table.Find(layout.PartitionImageCache)
	got := make([]byte, len(cache))

	if _, err := d.ReadAt(got, int64(p.First)*512); err != nil || !bytes.Equal(got, cache) {
		return errors.Join(err, errors.New("the image cache is not whole"))
	}

	p, _ = table.Find(layout.PartitionMeta)
	got = make([]byte, layout.MetaSize)

	if _, err := d.ReadAt(got, int64(p.First)*512); err != nil || len(bytes.Trim(got, "\x00")) > 0 {
		return errors.Join(err, errors.New("META is not empty"))
	}

	return nil
}

// part is a partition that is only read.
type part struct{ *io.SectionReader }

func (part) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (part) Sync() error                        { return errors.ErrUnsupported }

// starts reports whether firmware finds what it starts in the partition EFI.
func starts(d io.ReaderAt, table *gpt.Table) bool {
	efi, _ := table.Find(layout.PartitionEFI)

	f, err := fat.Open(part{io.NewSectionReader(d, int64(efi.First)*512, int64(efi.Sectors())*512)}, int64(efi.Sectors())*512, time.Time{})
	if err != nil {
		return false
	}

	_, _, err = f.Open("/EFI/BOOT/BOOTX64.EFI")

	return err == nil
}

// TestAnyCut cuts the power at any write of an installation over an old one: the disk has the old system, no system, or the whole new one. What has
// no META starts only if all is there but META.
func TestAnyCut(t *testing.T) {
	d := powercut.New(size)

	old := plan(t, false)
	old.Table.ID[0]++

	before := content()
	before.EFI[0].Source = install.Bytes([]byte("the old kernel"))

	if err := install.Write(t.Context(), d, old, before, nil); err != nil {
		t.Fatal(err)
	}

	meta, _ := old.Table.Find(layout.PartitionMeta)
	if _, err := d.WriteAt([]byte("TALOSADV, of the old system"), int64(meta.First)*512); err != nil {
		t.Fatal(err)
	}

	d.Forget()

	next := plan(t, false)
	if err := install.Write(t.Context(), d, next, content(), nil); err != nil {
		t.Fatal(err)
	}

	seen := map[string]int{}
	rng := rand.New(rand.NewPCG(14, 5))

	for s := range d.States(rng, 12) {
		table, err := gpt.Read(s, size, 512)
		if err != nil {
			seen["none"]++

			continue
		}

		_, has := table.Find(layout.PartitionMeta)

		switch {
		case !has && !starts(s, table):
			seen["unfinished"]++
		case !has:
			seen["starts without META"]++

			if err := whole(s, next.Table); err != nil {
				t.Fatalf("after %d flushes, %d sectors kept the disk starts: %v", s.Flushes, s.Kept, err)
			}
		case table.ID == next.Table.ID:
			seen["new"]++

			if err := whole(s, table); err != nil {
				t.Fatalf("after %d flushes, %d sectors kept: %v", s.Flushes, s.Kept, err)
			}
		case s.Flushes > 0:
			t.Fatalf("after %d flushes the disk has the old system, with its ends wiped", s.Flushes)
		default:
			seen["old"]++
		}
	}

	for _, want := range []string{"none", "unfinished", "new"} {
		if seen[want] == 0 {
			t.Errorf("no state has %s: %v", want, seen)
		}
	}

	t.Log(seen)
}

// TestCutIsNoObstacle cuts the power at any write of an installation without the permission to wipe, to an empty disk and to what an interrupted one
// left: unless the disk has the system, the next attempt is not refused.
func TestCutIsNoObstacle(t *testing.T) {
	blank, cut := powercut.New(size), powercut.New(size)

	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()

	err := install.Write(cancelled, cut, plan(t, false), content(), func(text string) {
		if text == "write EFI" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	cut.Forget()

	request := small
	request.Wipe = false

	for name, d := range map[string]*powercut.Disk{"an empty disk": blank, "an interrupted installation": cut} {
		if err := again(d, request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if err := install.Write(t.Context(), d, plan(t, false), content(), nil); err != nil {
			t.Fatal(err)
		}

		installed := 0

		for s := range d.States(rand.New(rand.NewPCG(14, 6)), 12) {
			if table, err := gpt.Read(s, size, 512); err == nil {
				if _, has := table.Find(layout.PartitionMeta); has {
					installed++

					continue
				}
			}

			if err := again(s, request); err != nil {
				t.Fatalf("%s, after %d flushes, %d sectors kept: %v", name, s.Flushes, s.Kept, err)
			}
		}

		if installed == 0 {
			t.Errorf("%s: no state has the system", name)
		}

		if err := again(d, request); !errors.Is(err, install.ErrNotEmpty) {
			t.Errorf("%s: once more: got %v, want %v", name, err, install.ErrNotEmpty)
		}
	}
}

// again plans an installation to what is on a disk.
func again(r io.ReaderAt, request install.Request) error {
	d := install.Disk{Name: "disk", Size: size, SectorSize: 512}
	if err := d.Probe(r); err != nil {
		return err
	}

	_, err := install.For(d, request)

	return err
}

// TestProbe looks at disks that are not empty, wherever their data are.
func TestProbe(t *testing.T) {
	for name, tt := range map[string]struct {
		at   int64
		text string
		want string
	}{
		"at the start":   {0, "a user's data", "unknown data"},
		"btrfs":          {0x10040, "_BHRfS_M", "btrfs"},
		"an array":       {size - 64<<10, "\xfc\x4e\x2b\xa9", "unknown data"},
		"remains of XFS": {1024, "XAGI", "unknown data"},
		"nothing":        {0, "", ""},
	} {
		disk := powercut.New(size)
		if _, err := disk.WriteAt([]byte(tt.text), tt.at); err != nil {
			t.Fatal(err)
		}

		d := install.Disk{Size: size, SectorSize: 512}
		if err := d.Probe(disk); err != nil || d.Content != tt.want || d.Begun {
			t.Errorf("%s: got %+v, %v, want %q", name, d, err, tt.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	large := install.Bytes(make([]byte, 37*mib))
	wrong := install.Bytes([]byte("kernel"))
	wrong.SHA256 = strings.Repeat("0", 64)

	longer := install.Bytes([]byte("kernel"))
	longer.Size, longer.SHA256 = 3, ""

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()

	for name, tt := range map[string]struct {
		ctx     context.Context
		content install.Content
		want    string
		writes  bool
	}{
		"too large":       {t.Context(), install.Content{EFI: []install.File{{"/a", large}}}, "the content of EFI has 38797312 bytes, and the partition 37748736", false},
		"not planned":     {t.Context(), install.Content{GRUB: &install.GRUB{Core: wrong}}, "there is content for a partition BIOS, which is not planned", false},
		"a wrong digest":  {t.Context(), install.Content{EFI: []install.File{{"/a", wrong}}}, "the source has the digest", true},
		"a longer source": {t.Context(), install.Content{ImageCache: &longer}, "the source is longer than 3 bytes", true},
		"cancelled":       {cancelled, content(), "context canceled", false},
	} {
		d := powercut.New(size)

		err := install.Write(tt.ctx, d, plan(t, false), tt.content, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}

		if writes := d.Writes() > 0; writes != tt.writes {
			t.Errorf("%s: written: got %v, want %v", name, writes, tt.writes)
		}

		if table, err := gpt.Read(d, size, 512); err == nil {
			if _, has := table.Find(layout.PartitionMeta); has {
				t.Errorf("%s: the disk has META", name)
			}
		}
	}
}

// TestImageFile installs to a new file, which stays sparse, and has the same bytes as on a disk.
func TestImageFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk.raw")

	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}

	p := plan(t, true)
	if err := install.Write(t.Context(), f, p, content(), nil); err != nil {
		t.Fatal(err)
	}

	if err := whole(f, p.Table); err != nil {
		t.Fatal(err)
	}

	d := powercut.New(size)
	p.Fresh = false

	if err := install.Write(t.Context(), d, p, content(), nil); err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	want := make([]byte, size)
	if _, err := d.ReadAt(want, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file and the disk differ, %v", err)
	}
}
