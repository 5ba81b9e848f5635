// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

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

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/install"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/machine/installation"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
	"github.com/seed-59268b81/talos/sys/gpt"
)

// emptyDisk returns a loop device of a machine.
func emptyDisk(t *testing.T, b *bench, content string) string {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes loop devices")
	}

	const size = 5 << 30

	file := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(file, []byte(content), 0o600), os.Truncate(file, size)); err != nil {
		t.Fatal(err)
	}

	losetup := hosttest.Need(t, "losetup")

	out, err := exec.Command(losetup, "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("this computer has no loop devices: %v: %s", err, out)
	}

	path := strings.TrimSpace(string(out))

	t.Cleanup(func() {
		if out, err := exec.Command(losetup, "--detach", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	set(t, b, filepath.Base(path), block.DiskSpec{DevPath: path, Size: size})

	return path
}

// onDisk is a partition of a disk that is only read.
type onDisk struct {
	io.ReaderAt
	offset int64
}

func (p onDisk) ReadAt(b []byte, at int64) (int, error) { return p.ReaderAt.ReadAt(b, p.offset+at) }
func (onDisk) WriteAt([]byte, int64) (int, error)       { return 0, os.ErrPermission }
func (onDisk) Sync() error                              { return nil }

// install makes the call, and returns what it says and whether it ended with an exit code.
func (b *bench) install(ctx context.Context, disk, image string) (lines []string, exit bool, err error) {
	stream, err := machine.NewLifecycleServiceClient(b.conn).Install(ctx, &machine.LifecycleServiceInstallRequest{
		Containerd: system, Source: &machine.InstallArtifactsSource{ImageName: image}, Destination: &machine.InstallDestination{Disk: disk},
	})
	if err != nil {
		return nil, false, err
	}

	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return lines, exit, nil
		}

		if err != nil {
			return lines, exit, err
		}

		switch r := m.GetProgress().GetResponse().(type) {
		case *machine.LifecycleServiceInstallProgress_Message:
			lines = append(lines, r.Message)
		case *machine.LifecycleServiceInstallProgress_ExitCode:
			exit = r.ExitCode == 0
		}
	}
}

// TestInstall installs a release over the API to a loop device of a machine that was started over the network.
func TestInstall(t *testing.T) {
	const (
		image = "registry.test/installer:v1.1.0"
		other = "registry.test/other:v1.1.0"
	)

	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	if _, _, err := b.install(ctx, "/dev/sda", image); status.Code(err) != codes.Unavailable {
		t.Errorf("while the machine starts: got %v, want %s", err, codes.Unavailable)
	}

	target, full := emptyDisk(t, b, ""), emptyDisk(t, b, "a user's data")
	installer := &installation.Installer{
		State: b.State, Sys: disk.Sys, Vars: efivar.Dir(t.TempDir()), UEFI: true, Version: "v1.0.0",
		Fetch: fromLayouts(map[string]string{image: layoutOf(t, "v1.1.0", "amd64"), other: layoutOf(t, "v1.1.0", "arm64")}),
	}
	b.Installer = installer

	for _, tt := range []struct {
		name, disk, image string
		want              codes.Code
		text              string
	}{
		{"no disk", "", image, codes.InvalidArgument, "name the disk"},
		{"an unknown disk", "/dev/none", image, codes.NotFound, "see talosctl get disks"},
		{"not a disk", "/dev/null", image, codes.FailedPrecondition, "the selector does not match"},
		{"not empty", full, image, codes.FailedPrecondition, full + ": the disk is not empty: it holds unknown data"},
		{"no image", target, "", codes.FailedPrecondition, "name the image of the installer"},
		{"no such image", target, "registry.test/installer:v9", codes.NotFound, "registry.test/installer:v9"},
		{"another architecture", target, other, codes.FailedPrecondition, "arm64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, exit, err := b.install(ctx, tt.disk, tt.image)
			if exit || status.Code(err) != tt.want || !strings.Contains(err.Error(), "install: ") || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %s with %q", err, tt.want, tt.text)
			}
		})
	}

	if d, err := install.Inspect(disk.Sys, target); err != nil || d.Content != "" {
		t.Errorf("%s was changed: it has %q, %v", target, d.Content, err)
	}

	// In maintenance every caller is a reader.
	if _, _, err := b.install(as(t.Context(), contract.RoleReader), target, image); status.Code(err) != codes.PermissionDenied ||
		!strings.Contains(err.Error(), "talosctl apply-config --insecure") {
		t.Errorf("as a reader: got %v", err)
	}

	// A configuration that waits for a disk has arguments for the kernel.
	configure(t, b, []byte("version: v1alpha1\nmachine:\n  install:\n    disk: /dev/none\n    extraKernelArgs: [extra=1]\n"))

	installer.UEFI = false

	if _, _, err := b.install(ctx, target, image); err == nil || !strings.Contains(err.Error(), "the release has no GRUB") {
		t.Errorf("by a BIOS: got %v", err)
	}

	installer.UEFI = true

	lines, exit, err := b.install(ctx, target, image)
	if err != nil || !exit {
		t.Fatalf("got %q, %v", lines, err)
	}

	if first, last := lines[0], lines[len(lines)-1]; first != "installing v1.1.0 of "+image+" to "+target || last != "v1.1.0 is on "+target {
		t.Errorf("got %q", lines)
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

	esp, err := fat.Open(onDisk{f, int64(efi.First) * 512}, int64(efi.Sectors())*512, time.Time{})
	if err != nil {
		t.Fatal(err)
	}

	if got, err := esp.ReadFile("/loader/entries/Talos-v1.1.0.conf", 1<<10); err != nil || !strings.Contains(string(got), "extra=1") {
		t.Errorf("the boot entry: got %q, %v", got, err)
	}

	set(t, b, block.SystemDiskID, block.SystemDiskSpec{DevPath: target})

	if _, _, err := b.install(ctx, full, image); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "the system is on a disk already") {
		t.Errorf("a second time: got %v", err)
	}
}
