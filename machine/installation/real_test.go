// SPDX-License-Identifier: Apache-2.0

//go:build linux

package installation

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/install/medium/mediumtest"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

const (
	ofMedium = "v1.2.3"
	ownArgs  = "quiet pti=on"
)

// loop returns a loop device with a content and a size.
func loop(t *testing.T, content []byte, size int64, args ...string) string {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes loop devices")
	}

	file := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(file, content, 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}

	losetup := hosttest.Need(t, "losetup")

	out, err := exec.Command(losetup, append(args, "--find", "--show", file)...).CombinedOutput()
	if err != nil {
		t.Skipf("this computer has no loop devices: %v: %s", err, out)
	}

	path := strings.TrimSpace(string(out))

	t.Cleanup(func() {
		if out, err := exec.Command(losetup, "--detach", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	return path
}

// vendor is that of the variables of boot loaders.
var vendor = uuid.MustParse("4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")

// bench is a machine that was started from a medium, with disks.
type bench struct {
	*Installer

	st     state.State
	medium string
	steps  []string
}

const room = 5 << 30

// part is a partition of a disk that is only read.
type part struct {
	io.ReaderAt
	offset int64
}

func (p part) ReadAt(b []byte, at int64) (int, error) { return p.ReaderAt.ReadAt(b, p.offset+at) }
func (part) WriteAt([]byte, int64) (int, error)       { return 0, os.ErrPermission }
func (part) Sync() error                              { return nil }

func newBench(t *testing.T, more ...install.File) *bench {
	t.Helper()

	esp := mediumtest.ESP(t, ofMedium, ownArgs, more...)
	b := &bench{st: memory.New(), medium: loop(t, esp, int64(len(esp)))}
	b.Installer = &Installer{
		State: b.st, Sys: disk.Sys, Vars: efivar.Dir(t.TempDir()), UEFI: true, Version: ofMedium, Cmdline: ownArgs + " debug",
		Fetch: func(context.Context, string, *view.Config) (*release.Image, error) { return nil, release.ErrNotOurs },
	}

	b.has(t, b.medium, blkid.VFAT)

	return b
}

// has publishes a disk.
func (b *bench) has(t *testing.T, path, content string) {
	t.Helper()

	id := filepath.Base(path)

	err := errors.Join(
		typed.Set(t.Context(), b.st, "", id, block.DiskSpec{DevPath: path, Size: room}),
		typed.Set(t.Context(), b.st, "", id, block.DiscoveredVolumeSpec{Type: block.DeviceTypeDisk, DevPath: path, Name: content}),
	)
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) to(t *testing.T, want view.Install) error {
	t.Helper()

	b.steps = nil

	return b.install(t.Context(), view.Of(nil), &want, func(text string) { b.steps = append(b.steps, text) })
}

// TestInstall installs from a medium to an empty disk.
func TestInstall(t *testing.T) {
	b := newBench(t)
	target := loop(t, nil, room)
	b.has(t, target, "")

	if err := b.to(t, view.Install{Match: "disk.size > 1u * GiB", Args: []string{"extra=1"}}); err != nil {
		t.Fatal(err)
	}

	if last := b.steps[len(b.steps)-1]; last != ofMedium+" is on "+target {
		t.Errorf("got %q", b.steps)
	}

	f, err := disk.Open(target, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		t.Fatal(err)
	}

	if _, there := table.Find(layout.PartitionMeta); !there {
		t.Error("it has no META")
	}

	efi, _ := table.Find(layout.PartitionEFI)

	esp, err := fat.Open(part{f, int64(efi.First) * 512}, int64(efi.Sectors())*512, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"/EFI/BOOT/BOOTX64.EFI":             mediumtest.Loader,
		"/EFI/Linux/Talos-v1.2.3.efi":       string(mediumtest.UKI(ownArgs)),
		"/loader/loader.conf":               "timeout 0\neditor no\ndefault Talos-v1.2.3.conf\n",
		"/loader/entries/Talos-v1.2.3.conf": "title Talos v1.2.3\nefi /EFI/Linux/Talos-v1.2.3.efi\noptions " + ownArgs + " debug extra=1\n",
	} {
		if got, err := esp.ReadFile(path, 1<<20); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}

// TestInstallBIOS installs from a medium with GRUB to an empty disk, on a machine that a BIOS has started.
func TestInstallBIOS(t *testing.T) {
	b := newBench(t, mediumtest.GRUB()...)
	b.UEFI, b.Cmdline = false, "BOOT_IMAGE=(uki)1+1 "+b.Cmdline
	target := loop(t, nil, room)
	b.has(t, target, "")

	if err := b.to(t, view.Install{Disk: target, Args: []string{"extra=1", "-quiet"}}); err != nil {
		t.Fatal(err)
	}

	f, err := disk.Open(target, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	table, err := gpt.Read(f, f.Size, f.SectorSize)
	if err != nil {
		t.Fatal(err)
	}

	var first [512]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || first[0] != 'b' {
		t.Errorf("first sector: got %q, %v", first[:8], err)
	}

	p, _ := table.Find(layout.PartitionBoot)
	if p.Number != 3 { // where GRUB looks for it
		t.Errorf("BOOT is the partition %d", p.Number)
	}

	boot, err := fat.Open(part{f, int64(p.First) * 512}, int64(p.Sectors())*512, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	for path, want := range map[string]string{
		"/A/vmlinuz":       mediumtest.Kernel,
		"/A/initramfs.img": mediumtest.Initramfs,
		"/A/boot.cfg": "# version v1.2.3\n# arguments " + ownArgs + "\n" +
			"linux /A/vmlinuz 'pti=on' 'debug' 'extra=1' 'talos.boot.entry=A'\nif initrd /A/initramfs.img; then set loaded=yes; fi\n",
	} {
		if got, err := boot.ReadFile(path, 1<<20); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestPartitionInUse installs to a disk with a partition that a program has open: the kernel does not read the new table, and the firmware has the
// name of the entry all the same.
func TestPartitionInUse(t *testing.T) {
	b := newBench(t)
	target := loop(t, nil, room, "--partscan")
	b.has(t, target, "")

	d, err := disk.Open(target, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if err := d.AddPartition(1, 1<<20, 1<<20); err != nil {
		t.Skipf("the kernel accepts no partitions: %v", err)
	}

	p, err := os.Open(target + "p1")
	if err != nil {
		t.Skipf("no device of a partition appears (no devtmpfs): %v", err)
	}
	defer p.Close()

	if err := b.to(t, view.Install{Disk: target}); !errors.Is(err, install.ErrNotRead) {
		t.Errorf("got %v, want %v", err, install.ErrNotRead)
	}

	name, err := b.Vars.Get(efivar.Name{Name: "LoaderEntryDefault", Vendor: vendor})
	if text, _ := efivar.DecodeText(name); err != nil || text != "Talos-v1.2.3.conf" {
		t.Errorf("default entry: got %q, %v", text, err)
	}
}

// TestStartedFromOther has the firmware start another disk than the medium: its release cannot be read, and it is not written to.
func TestStartedFromOther(t *testing.T) {
	b := newBench(t)
	target := loop(t, nil, room)
	b.has(t, target, "")

	err := errors.Join(
		typed.Set(t.Context(), b.st, "", "p1", block.DiscoveredVolumeSpec{
			Type: block.DeviceTypePartition, DevPath: target + "p1", ParentDevPath: target, PartitionUUID: "5A7D0C4E-1A2B-4C3D-8E9F-001122334455",
		}),
		b.Vars.Set(efivar.Name{Name: "LoaderDevicePartUUID", Vendor: vendor}, efivar.EncodeText("5a7d0c4e-1a2b-4c3d-8e9f-001122334455")),
	)
	if err != nil {
		t.Fatal(err)
	}

	const want = "the disk is in use by this boot: the firmware has started the machine from it"
	if err := b.to(t, view.Install{Disk: target, Wipe: true}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestRefusals checks that what cannot be installed changes nothing.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	empty, other := loop(t, nil, room), loop(t, nil, room)
	small, full := loop(t, nil, 64<<20), loop(t, []byte("a user's data"), room)

	for _, path := range []string{empty, other, small, full} {
		b.has(t, path, "")
	}

	lock, err := disk.OpenUnused(other)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()

	for _, tt := range []struct {
		name string
		want view.Install
		err  string
	}{
		{"too small", view.Install{Disk: small}, "the disk is too small"},
		{"in use", view.Install{Disk: other, Wipe: true}, "the disk is in use by the kernel"},
		{"not empty", view.Install{Disk: full}, "the disk is not empty: it holds unknown data: permit to wipe it"},
		{"the medium", view.Install{Disk: b.medium, Wipe: true}, "it is the medium that the machine was started from"},
		{"no disk matches", view.Install{Match: `disk.model == "none"`}, empty + ": the selector does not match"},
		{"two match", view.Install{Match: `disk.size > 0u`, Wipe: true}, "it must match one"},
		{"not our image", view.Install{Disk: empty, Image: "registry.test/other:v1"}, release.ErrNotOurs.Error()},
		{"no such disk", view.Install{Disk: "/dev/none"}, "machine.install.disk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := b.to(t, tt.want); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}

	for _, path := range []string{empty, small} {
		if d, err := install.Inspect(disk.Sys, path); err != nil || d.Content != "" {
			t.Errorf("%s was changed: it has %q, %v", path, d.Content, err)
		}
	}

	b.UEFI = false
	if err := b.to(t, view.Install{Disk: empty}); !errors.Is(err, ErrBIOS) {
		t.Errorf("got %v, want %v", err, ErrBIOS)
	}

	b.UEFI = true

	if err := b.install(t.Context(), view.Of(nil), nil, nil); !errors.Is(err, ErrNoTarget) {
		t.Errorf("got %v, want %v", err, ErrNoTarget)
	}

	if err := typed.Set(t.Context(), b.st, "", block.SystemDiskID, block.SystemDiskSpec{DevPath: "/dev/sda"}); err != nil {
		t.Fatal(err)
	}

	if err := b.to(t, view.Install{Disk: empty}); !errors.Is(err, ErrInstalled) {
		t.Errorf("got %v, want %v", err, ErrInstalled)
	}
}
