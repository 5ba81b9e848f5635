// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/gpt"
)

func write(t *testing.T, path, text string) string {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	return path
}

// smallDisk creates a disk image with small parts and returns its path.
func smallDisk(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	layout := filepath.Join(dir, "layout")
	write(t, filepath.Join(layout, "blobs", "sha256", "abc"), strings.Repeat("layer", 100_000))
	write(t, filepath.Join(layout, "index.json"), "{}")

	parts := Disk{
		Loader: write(t, filepath.Join(dir, "loader.efi"), "loader"),
		UKI:    write(t, filepath.Join(dir, "Talos-v9.9.9.efi"), strings.Repeat("kernel", 10_000)),
		Cache:  filepath.Join(dir, "cache.ext4"),
		BIOS: &BIOS{
			Boot:      write(t, filepath.Join(dir, "boot.img"), strings.Repeat("b", 510)+"\x55\xaa"),
			Core:      write(t, filepath.Join(dir, "core.img"), strings.Repeat("\x00", 510)+"\x20\x08"+strings.Repeat("core", 1000)),
			Kernel:    write(t, filepath.Join(dir, "vmlinuz"), strings.Repeat("kernel", 9_000)),
			Initramfs: write(t, filepath.Join(dir, "initramfs.img"), "initramfs"),
			Version:   "v9.9.9", Cmdline: "slab_nomerge console=ttyS0",
		},
		EFISize:  64 << 20,
		BootSize: 64 << 20,
	}

	if err := makeExt4(t.Context(), layout, parts.Cache, identity("test").String()); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(dir, "disk", "disk.raw")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := MakeDisk(t.Context(), path, parts); err != nil {
		t.Fatal(err)
	}

	return path
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()

	out, err := exec.Command(hosttest.Need(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}

	return string(out)
}

func TestDisk(t *testing.T) {
	path := smallDisk(t)

	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}

	table, err := gpt.Read(f, uint64(info.Size()), sectorSize)
	if err != nil || table.Repair != "" {
		t.Fatalf("%v, repair %q", err, table.Repair)
	}

	for label, want := range map[string]string{"EFI": "vfat", "BIOS": "", "BOOT": "vfat", "META": "", "IMAGECACHE": "ext4"} {
		p, ok := table.Find(label)
		if !ok {
			t.Fatalf("no partition %s in %+v", label, table.Partitions)
		}

		part := io.NewSectionReader(f, int64(p.First*sectorSize), int64(p.Sectors()*sectorSize))

		got, err := blkid.Probe(part, p.Sectors()*sectorSize, sectorSize)
		if err != nil || got.Name != want {
			t.Errorf("partition %s: got %q, %v, want %q", label, got.Name, err, want)
		}

		if label == "IMAGECACHE" {
			image := filepath.Join(t.TempDir(), "part")

			data, err := io.ReadAll(part)
			if err != nil {
				t.Fatal(err)
			}

			write(t, image, string(data))
			output(t, "e2fsck", "-fn", image)

			if got := output(t, "debugfs", "-R", "cat /index.json", image); !strings.Contains(got, "{}") {
				t.Errorf("index.json of the image cache: got %q", got)
			}
		}
	}

	esp, _ := table.Find("EFI")
	image := path + "@@" + "1048576"

	if esp.First*sectorSize != 1048576 {
		t.Fatalf("EFI partition starts at %d", esp.First*sectorSize)
	}

	boot, _ := table.Find("BOOT")
	bootImage := fmt.Sprint(path, "@@", boot.First*sectorSize)

	if got := output(t, "mtype", "-i", bootImage, "::/A/boot.cfg"); !strings.HasPrefix(got,
		"# version v9.9.9\n# arguments slab_nomerge console=ttyS0\nlinux /A/vmlinuz 'slab_nomerge' 'console=ttyS0' 'talos.boot.entry=A'\n") {
		t.Errorf("/A/boot.cfg: got %s", got)
	}

	if got := output(t, "mtype", "-i", bootImage, "::/A/vmlinuz"); got != strings.Repeat("kernel", 9_000) {
		t.Errorf("/A/vmlinuz: got %d bytes", len(got))
	}

	// The first sector has the program of GRUB and the table, and the core is where that looks for it.
	first := make([]byte, sectorSize)
	if _, err := f.ReadAt(first, 0); err != nil {
		t.Fatal(err)
	}

	bios, _ := table.Find("BIOS")
	if got := binary.LittleEndian.Uint64(first[0x5c:]); got != bios.First || first[0] != 'b' || bios.Number != 2 || boot.Number != 3 {
		t.Errorf("the core is at sector %d, in partition %d, and BOOT is partition %d", got, bios.Number, boot.Number)
	}

	for file, want := range map[string]string{
		"/EFI/BOOT/BOOTX64.EFI":       "loader",
		"/EFI/Linux/Talos-v9.9.9.efi": strings.Repeat("kernel", 10_000),
		"/loader/loader.conf":         "timeout 0\neditor no\n",
	} {
		if got := output(t, "mtype", "-i", image, "::"+file); got != want {
			t.Errorf("%s: got %d bytes, want %d", file, len(got), len(want))
		}
	}
}

func TestDiskIsReproducible(t *testing.T) {
	var sums [2][]byte

	for i := range sums {
		for start := time.Now().Unix(); i > 0 && time.Now().Unix() == start; {
			time.Sleep(10 * time.Millisecond) // the resolution of times is one second: create the second image in another second
		}

		f, err := os.Open(smallDisk(t))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()

		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			t.Fatal(err)
		}

		sums[i] = h.Sum(nil)
	}

	if !bytes.Equal(sums[0], sums[1]) {
		t.Error("two images of the same parts differ")
	}
}
