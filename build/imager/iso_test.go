// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/medium"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// extract returns a file of a CD.
func extract(t *testing.T, cd, path string) []byte {
	t.Helper()

	to := filepath.Join(t.TempDir(), "file")
	if out, err := exec.Command(hosttest.Need(t, "xorriso"), "-osirrox", "on", "-indev", cd, "-extract", path, to).CombinedOutput(); err != nil {
		t.Fatalf("xorriso: %v: %s", err, out)
	}

	return read(t, to)
}

// TestISO reads a CD as firmware does: by El Torito, and, written to a USB stick, by its first sector and its partition table.
func TestISO(t *testing.T) {
	in := inputs(t)
	file := mustMake(t, Profile{Base: "iso", Customization: Customization{KernelArgs: []string{"debug"}}}, in)[0]

	out, err := exec.Command(hosttest.Need(t, "xorriso"), "-indev", file, "-report_el_torito", "plain", "-report_system_area", "plain", "-pvd_info").CombinedOutput()
	if err != nil {
		t.Fatalf("xorriso: %v: %s", err, out)
	}

	for _, want := range []string{
		`El Torito boot img :   1  BIOS  y   none`, `El Torito img path :   1  /boot/grub/cd.img`, `El Torito img opts :   1  boot-info-table grub2-boot-info`,
		`El Torito boot img :   2  UEFI  y   none`, `El Torito img path :   2  /boot/efi.img`,
		`System area summary: MBR protective-msdos-label grub2-mbr`, `TALOS_V9_8_7`, `2023111422132000`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("xorriso does not report %q:\n%s", want, out)
		}
	}

	b, content := read(t, file), extract(t, file, "/boot/efi.img")

	if !bytes.HasPrefix(b, bytes.Repeat([]byte("h"), 400)) {
		t.Error("the first sector has no program")
	}

	table, err := gpt.Read(bytes.NewReader(b), uint64(len(b)), 512)
	if err != nil {
		t.Fatal(err)
	}

	found := false

	for _, p := range table.Partitions {
		found = found || p.Type == gpt.TypeESP && bytes.HasPrefix(b[p.First*512:], content[:4096])
	}

	if !found {
		t.Errorf("got the partitions %+v, want an EFI partition at the file system", table.Partitions)
	}

	f, err := fat.Open(memory(content), int64(len(content)), time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	uki, err := f.ReadFile("/EFI/Linux/Talos-v9.8.7.efi", 1<<20)
	if err != nil || !bytes.Contains(uki, []byte(stockArgs+" debug")) {
		t.Errorf("unified kernel image: %v", err)
	}

	for path, of := range map[string]string{loader.GRUBBootPath: in.GRUBBoot, loader.GRUBCorePath: in.GRUBCore} {
		if got, err := f.ReadFile(path, 1<<20); err != nil || !bytes.Equal(got, read(t, of)) {
			t.Errorf("%s: got %d bytes, %v", path, len(got), err)
		}
	}
}

var isoConfig = regexp.MustCompile(`^set superusers=
loopback efi /boot/efi.img
loopback uki "\(efi\)/EFI/Linux/Talos-v9.8.7.efi"
linux \(uki\)(\d+\+\d+) (.*)
if initrd \(uki\)(\d+\+\d+); then boot; fi
$`)

// TestISOBIOS takes the kernel, the initramfs and the arguments as GRUB does. They are those of UEFI, whatever is customized.
func TestISOBIOS(t *testing.T) {
	custom := Customization{KernelArgs: []string{"debug", "x=it's"}, Config: "machine:\n  type: worker\n"}
	file := mustMake(t, Profile{Base: "iso", Customization: custom}, inputs(t))[0]
	text := string(extract(t, file, "/boot/grub/grub.cfg"))

	m := isoConfig.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("grub.cfg: got %q", text)
	}

	if want := `'slab_nomerge' 'talos.platform=metal' 'debug' 'x=it'\''s'`; m[2] != want {
		t.Errorf("arguments: got %s, want %s", m[2], want)
	}

	efi := extract(t, file, "/boot/efi.img")

	f, err := fat.Open(memory(efi), int64(len(efi)), time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	uki, err := f.ReadFile("/EFI/Linux/Talos-v9.8.7.efi", 1<<20)
	if err != nil {
		t.Fatal(err)
	}

	sectors := func(list string) string {
		var first, count int
		if _, err := fmt.Sscanf(list, "%d+%d", &first, &count); err != nil {
			t.Fatal(err)
		}

		return string(bytes.TrimRight(uki[first*512:][:count*512], "\x00"))
	}

	if got := sectors(m[1]); got != "kernel" {
		t.Errorf("kernel: got %q", got)
	}

	if got := sectors(m[3]); !strings.HasPrefix(got, "initramfs") || !strings.Contains(got, custom.Config) {
		t.Errorf("initramfs: got %q, want the configuration in it", got)
	}
}

// TestISOWithoutGRUB makes no CD that a BIOS does not start.
func TestISOWithoutGRUB(t *testing.T) {
	p, err := Profile{Base: "iso"}.Complete()
	if err != nil {
		t.Fatal(err)
	}

	in := inputs(t)
	if err := os.Truncate(in.GRUBCD, 100); err != nil {
		t.Fatal(err)
	}

	if _, err := Make(t.Context(), p, in, t.TempDir()); err == nil || !strings.Contains(err.Error(), "GRUB: its program for the first sector has 512 bytes, and its core 100") {
		t.Errorf("got %v", err)
	}

	in.GRUBCD += ".gone"
	if _, err := Make(t.Context(), p, in, t.TempDir()); err == nil || !strings.Contains(err.Error(), "is missing: run make build first") {
		t.Errorf("got %v", err)
	}
}

// TestISOCache makes a CD with the container images. It has all that a CD without them has, at the same places.
func TestISOCache(t *testing.T) {
	in := inputs(t)
	plain := read(t, mustMake(t, Profile{Base: "iso"}, in)[0])
	with := Profile{Base: "iso", Output: Output{Disk: DiskOptions{ImageCache: true}}}
	file := mustMake(t, with, in)[0]
	b := read(t, file)

	if again := read(t, mustMake(t, with, in)[0]); !bytes.Equal(again, b) {
		t.Error("it has other bytes the second time")
	}

	// The table, which is different, is in the first 32 KiB, of which the file system uses nothing.
	if !bytes.Equal(b[:440], plain[:440]) || !bytes.Equal(b[32<<10:len(plain)], plain[32<<10:]) {
		t.Error("what is on the CD without images has changed")
	}

	cache := part(t, file, "IMAGECACHE")
	if want := read(t, in.ImageCache); !bytes.HasPrefix(cache, want) || len(cache)-len(want) >= 1<<20 {
		t.Errorf("image cache: got %d bytes, want those of %d and at most 1 MiB of zeros", len(cache), len(want))
	}

	m, err := medium.Open(bytes.NewReader(b), int64(len(b)), "v9.8.7")
	if err != nil || m.Cache == nil || m.Cache.Size != int64(len(cache)) {
		t.Fatalf("medium: got %+v, %v", m, err)
	}

	r, err := m.Cache.Open()
	if err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, cache) {
		t.Errorf("image cache of the medium: got %d bytes, %v", len(got), err)
	}

	if m, err := medium.Open(bytes.NewReader(plain), int64(len(plain)), "v9.8.7"); err != nil || m.Cache != nil {
		t.Errorf("a medium without images: got %+v, %v", m, err)
	}
}
