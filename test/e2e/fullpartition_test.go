// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// partition is a partition of a disk image.
type partition struct {
	*os.File
	offset int64
}

func (p partition) ReadAt(b []byte, at int64) (int, error)  { return p.File.ReadAt(b, p.offset+at) }
func (p partition) WriteAt(b []byte, at int64) (int, error) { return p.File.WriteAt(b, p.offset+at) }

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)

	return len(b), nil
}

// full upgrades a machine whose EFI partition another system has filled.
func (b broken) full(t *testing.T) {
	const left = 16 << 20

	if err := b.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	fillEFI(t, b.Lab.State().DiskPath(b.Node.Name), left)

	if err := b.Node.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}

	b.Answers()
	b.imports(t, released(t).Installer())

	boots := machineStatus(t, b.Cluster).Boots
	want := regexp.MustCompile(`partition EFI: .*: not enough free space: \d+ bytes are needed, \d+ are free`)

	out, err := b.do(t, "upgrade", "--image", generate.InstallerRepository+":"+nextVersion, "--drain=false", "--timeout", "2m")
	if err == nil || !want.MatchString(out) {
		t.Errorf("upgrade: got %v; want %s", err, want)
	}

	b.stays(t, boots)
}

// fillEFI fills the EFI partition of a machine's disk, while the machine is off, with a file that is not ours.
func fillEFI(t *testing.T, disk string, left int64) {
	t.Helper()

	raw := filepath.Join(t.TempDir(), "disk.raw")

	pack(t, "qemu-img", "convert", "-O", "raw", disk, raw)

	f, err := os.OpenFile(raw, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}

	table, err := gpt.Read(f, uint64(info.Size()), 512)
	if err != nil {
		t.Fatal(err)
	}

	efi, _ := table.Find(layout.PartitionEFI)

	fsys, err := fat.Open(partition{f, int64(efi.First) * 512}, int64(efi.Sectors())*512, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	size := fsys.Free() - left

	if err := fsys.Create(fat.File{Path: "/other.img", Size: size, Body: io.LimitReader(zeros{}, size)}); err != nil {
		t.Fatal(err)
	}

	pack(t, "qemu-img", "convert", "-O", "qcow2", raw, disk)
}
