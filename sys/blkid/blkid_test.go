// SPDX-License-Identifier: Apache-2.0

package blkid_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const id = "5a7d0c4e-1a2b-4c3d-8e9f-001122334455"

// The usual tools create the samples.
func TestProbe(t *testing.T) {
	const size = 64 << 20

	for _, test := range []struct {
		name string
		tool []string
		want blkid.Info
	}{
		{
			"xfs", []string{"mkfs.xfs", "-q", "--unsupported", "-L", "STATE", "-m", "uuid=" + id},
			blkid.Info{Name: "xfs", Label: "STATE", UUID: id, Size: size, BlockSize: 4096, SectorSize: 512},
		},
		{
			"ext4", []string{"mkfs.ext4", "-q", "-F", "-b", "4096", "-L", "IMAGECACHE", "-U", id},
			blkid.Info{Name: "ext4", Label: "IMAGECACHE", UUID: id, Size: size, BlockSize: 4096},
		},
		{
			"vfat 16", []string{"mkfs.vfat", "-F16", "-n", "EFI", "-i", "1234abcd"},
			blkid.Info{Name: "vfat", Label: "EFI", UUID: "1234-ABCD", Size: size, BlockSize: 2048, SectorSize: 512},
		},
		{
			"vfat 32", []string{"mkfs.vfat", "-F32", "-s1", "-i", "1234abcd"},
			blkid.Info{Name: "vfat", UUID: "1234-ABCD", Size: size, BlockSize: 512, SectorSize: 512},
		},
		{
			"swap", []string{"mkswap", "-L", "swap", "-U", id},
			blkid.Info{Name: "swap", Label: "swap", UUID: id, Size: size, BlockSize: 4096},
		},
		{
			"luks", []string{"cryptsetup", "luksFormat", "-q", "--type=luks2", "--label=secret", "--uuid=" + id, "--pbkdf=pbkdf2", "--pbkdf-force-iterations=1000", "--key-file=/etc/hostname"},
			blkid.Info{Name: "luks", Label: "secret", UUID: id},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "image")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}

			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}

			// mkfs.vfat counts whole tracks unless the geometry is set to one sector.
			if test.tool[0] == "mkfs.vfat" {
				test.tool = append(test.tool, "-g", "1/1")
			}

			run(t, append(test.tool, path)...)
			check(t, path, test.want)
		})
	}
}

func TestProbeSquashfs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "image")

	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	run(t, "mksquashfs", filepath.Join(dir, "file"), path, "-quiet", "-no-progress")

	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	got, err := blkid.Probe(bytes.NewReader(b), uint64(len(b)), 512)
	if err != nil || got.Name != "squashfs" || got.Size == 0 || got.Size > uint64(len(b)) || got.BlockSize != 128<<10 {
		t.Errorf("got %+v, %v, want a squashfs of at most %d bytes", got, err, len(b))
	}
}

func TestProbeISO(t *testing.T) {
	b := make([]byte, 40<<10)
	copy(b[32768:], "\x01CD001")
	copy(b[32768+40:], "TALOS"+strings.Repeat(" ", 27))
	b[32768+80], b[32768+129] = 20, 8
	copy(b[32768+813:], "2026112110203000")

	check(t, write(t, b), blkid.Info{
		Name: "iso9660", Label: "TALOS", UUID: "2026-11-21-10-20-30-00", Size: 40 << 10, BlockSize: 2048,
	})
}

func TestProbeUDF(t *testing.T) {
	for name, test := range map[string]struct {
		sequence []string
		want     string
	}{
		"version 2.01":        {[]string{"BEA01", "NSR03", "TEA01"}, "udf"},
		"version 1.02":        {[]string{"BEA01", "BOOT2", "NSR02", "TEA01"}, "udf"},
		"another file system": {[]string{"BEA01", "TEA01", "NSR03"}, ""},
		"no sequence":         {[]string{"NSR99"}, ""},
		"without an end":      {slices.Repeat([]string{"BEA01"}, 20), ""},
	} {
		b := make([]byte, 80<<10)
		for i, id := range test.sequence {
			copy(b[32768+2048*i+1:], id)
		}

		t.Run(name, func(t *testing.T) { check(t, write(t, b), blkid.Info{Name: test.want}) })
	}
}

func TestProbeGPT(t *testing.T) {
	path := write(t, make([]byte, 8<<20))

	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.New(8<<20, 512)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := table.Add(gpt.Partition{Label: "META", Type: gpt.TypeLinuxData}, 1<<20, 1<<20); err != nil {
		t.Fatal(err)
	}

	if err := table.Write(f); err != nil {
		t.Fatal(err)
	}

	want := blkid.Info{Name: "gpt", UUID: table.ID.String(), Size: 8 << 20, SectorSize: 512, Table: table}
	check(t, path, want)

	// An interrupted write of the primary copy.
	if _, err := f.WriteAt(make([]byte, 512), 512); err != nil {
		t.Fatal(err)
	}

	want.Table.Repair = "primary copy: no GUID partition table"
	check(t, path, want)
}

// data returns a device with text at an offset.
func data(size, offset int, text string) []byte {
	b := make([]byte, size)
	copy(b[offset:], text)

	return b
}

// Only a device whose ends are zero is blank. A partition may have the remains of mkfs.
func TestBlank(t *testing.T) {
	const size = 4 << 20

	xfs := data(size, 0, "XFSB")
	xfs[126] = 1

	for name, test := range map[string]struct {
		image              []byte
		blank, unformatted bool
	}{
		"zeros":               {make([]byte, size), true, true},
		"mkfs was cut":        {xfs, false, true},
		"a user's data":       {data(size, 4096, "data"), false, false},
		"mkfs is done":        {data(size, 0, "XFSB"), false, false},
		"later at the start":  {data(size, blkid.EndSize-4, "data"), false, true},
		"an array, version 0": {data(size, size-64<<10, "\xfc\x4e\x2b\xa9"), false, true},
		"at the very end":     {data(size, size-4, "data"), false, true},
		"between the ends":    {data(size, size/2, "data"), true, true},
		"a small one":         {data(1000, 999, "x"), false, false},
		"of no size":          {nil, true, true},
	} {
		got, err := blkid.Blank(bytes.NewReader(test.image), uint64(len(test.image)))
		if err != nil || got != test.blank {
			t.Errorf("%s: blank: got %v, %v, want %v", name, got, err, test.blank)
		}

		got, err = blkid.Unformatted(bytes.NewReader(test.image), uint64(len(test.image)))
		if err != nil || got != test.unformatted {
			t.Errorf("%s: unformatted: got %v, %v, want %v", name, got, err, test.unformatted)
		}

		if info, err := blkid.Probe(bytes.NewReader(test.image), uint64(len(test.image)), 512); err != nil || info.Name != "" {
			t.Errorf("%s: got %+v, %v, want nothing", name, info, err)
		}
	}
}

func TestProbeBtrfs(t *testing.T) {
	b := make([]byte, 128<<10)
	super := b[64<<10:]
	copy(super[32:], "\x5a\x7d\x0c\x4e\x1a\x2b\x4c\x3d\x8e\x9f\x00\x11\x22\x33\x44\x55")
	copy(super[64:], "_BHRfS_M")
	binary.LittleEndian.PutUint64(super[112:], 1<<30)
	binary.LittleEndian.PutUint32(super[144:], 4096)
	copy(super[299:], "backup")

	check(t, write(t, b), blkid.Info{Name: "btrfs", Label: "backup", UUID: id, Size: 1 << 30, BlockSize: 4096})
}

// A disk that cannot be read is not an empty disk.
func TestReadError(t *testing.T) {
	bad := errors.New("medium error")

	if info, err := blkid.Probe(broken{bad}, 1<<20, 512); !errors.Is(err, bad) {
		t.Errorf("Probe: got %+v, %v, want %v", info, err, bad)
	}

	if blank, err := blkid.Blank(broken{bad}, 1<<20); !errors.Is(err, bad) {
		t.Errorf("Blank: got %v, %v, want %v", blank, err, bad)
	}

	if unformatted, err := blkid.Unformatted(broken{bad}, 1<<20); !errors.Is(err, bad) {
		t.Errorf("Unformatted: got %v, %v, want %v", unformatted, err, bad)
	}
}

type broken struct{ error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.error }

func FuzzProbe(f *testing.F) {
	xfs := make([]byte, 512)
	copy(xfs, "XFSB")

	f.Add(xfs, make([]byte, 100), uint16(512))
	f.Add(append(make([]byte, 32768), "\x00BEA01"...), []byte{}, uint16(2048))
	f.Add([]byte("LUKS\xba\xbe"), []byte{}, uint16(4096))
	f.Add([]byte("hsqs"), append(make([]byte, 56), 0x53, 0xef), uint16(512))

	f.Fuzz(func(t *testing.T, head, at1024 []byte, sector uint16) {
		b := make([]byte, 40<<10)
		copy(b[1024:], at1024)
		copy(b, head)

		if _, err := blkid.Probe(bytes.NewReader(b), uint64(len(b)), uint64(sector)); err != nil {
			t.Errorf("an error without a broken disk: %v", err)
		}

		if _, err := blkid.Probe(bytes.NewReader(head), uint64(len(head)), uint64(sector)); err != nil {
			t.Errorf("short: an error without a broken disk: %v", err)
		}
	})
}

func run(t *testing.T, command ...string) {
	t.Helper()

	if out, err := exec.CommandContext(t.Context(), hosttest.Need(t, command[0]), command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

func write(t *testing.T, b []byte) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}

func check(t *testing.T, path string, want blkid.Info) {
	t.Helper()

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}

	got, err := blkid.Probe(f, uint64(st.Size()), 512)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("err %v (-want +got):\n%s", err, diff)
	}
}
