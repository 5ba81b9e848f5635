// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/gpt"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestResetRealKernel resets STATE and EPHEMERAL of a loop device: what is mounted is refused and keeps the record, and the next boot goes on
// with both, before they are used. Then the whole disk is wiped.
func TestResetRealKernel(t *testing.T) {
	for _, tool := range []string{"mkfs.xfs", "xfs_growfs", "losetup"} {
		hosttest.Need(t, tool)
	}

	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("cannot make mounts private: %v", err)
	}

	root := t.TempDir()
	loop := newDisk(t, filepath.Join(root, "disk"), 3*gib)

	m := boot(t, loop, root)

	for _, volume := range []string{block.VolumeState, block.VolumeEphemeral} {
		if err := os.WriteFile(m.request("test", volume)+"/secret", []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	partition, err := os.OpenFile(loop+"p1", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()

	values := func() *meta.Store {
		t.Helper()

		store, err := meta.Open(partition)
		if err != nil {
			t.Fatal(err)
		}

		return store
	}

	record := reset.Record{Partitions: []string{"STATE", "EPHEMERAL"}, Reboot: true}

	text, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}

	store := values()
	if err := store.Set(meta.Reset, text); err != nil {
		t.Fatal(err)
	}

	world := ResetWorld(true, only(t, filepath.Base(loop)), 0)

	if err := reset.Run(t.Context(), record, world(loop, store, nil), reset.Options{}); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("while STATE is mounted: got %v, want %v", err, disk.ErrInUse)
	}

	m.stop()

	if _, there := values().Get(meta.Reset); !there {
		t.Error("the record is gone")
	}

	m = boot(t, loop, root)

	for _, volume := range []string{block.VolumeState, block.VolumeEphemeral} {
		if _, err := os.Stat(m.request("test", volume) + "/secret"); !os.IsNotExist(err) {
			t.Errorf("a file on %s: got %v, want not found", volume, err)
		}
	}

	if _, there := values().Get(meta.Reset); there {
		t.Error("the record is still there")
	}

	m.stop()

	// The secret was in STATE, and is on the disk no more.
	if content, err := os.ReadFile(loop + "p2"); err != nil || bytes.Contains(content, []byte("secret")) {
		t.Errorf("STATE has the secret, or %v", err)
	}

	found, err := FindDisks(disk.Sys)
	if err != nil {
		t.Fatal(err)
	}

	if !slices.ContainsFunc(found, func(d reset.SeenDisk) bool { return d.Path == loop && d.Size == 3*gib && d.Unfit == "" }) {
		t.Errorf("the disk is not among %v", found)
	}

	whole := reset.Record{Partitions: []string{"META", "STATE", "EPHEMERAL"}, SystemDisk: true}
	if err := reset.Run(t.Context(), whole, world(loop, values(), nil), reset.Options{}); err != nil {
		t.Fatal(err)
	}

	d, err := disk.Open(loop, false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if table, err := gpt.Read(d, d.Size, d.SectorSize); err == nil {
		t.Errorf("the disk has the partitions %v", table.Partitions)
	}
}

// TestResetRealFolders empties a folder that is a mount of the file system of the root, as in a container, with another file system mounted in
// it. Nothing else is unmounted.
func TestResetRealFolders(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("cannot make mounts private: %v", err)
	}

	root, host := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, layout.VarDir)

	for _, path := range []string{dir, filepath.Join(host, "lib/etcd"), filepath.Join(host, "pods"), filepath.Join(root, "other")} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(host, "lib/etcd/db"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}

	for target, source := range map[string]string{dir: host, filepath.Join(root, "other"): host} {
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("cannot bind a folder: %v", err)
		}
	}

	if err := unix.Mount("tmpfs", filepath.Join(dir, "pods"), "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}

	before, err := mount.Table()
	if err != nil {
		t.Fatal(err)
	}

	if err := (&ResetFolders{Root: root}).Partition(t.Context(), layout.PartitionEphemeral); err != nil {
		t.Fatal(err)
	}

	after, err := mount.Table()
	if err != nil || len(after) != len(before)-1 {
		t.Errorf("of %d mounts %d are left, %v", len(before), len(after), err)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v in the folder, want nothing", left, err)
	}

	for _, target := range []string{dir, filepath.Join(root, "other")} {
		if err := mount.Unmount(target); err != nil {
			t.Error(err)
		}
	}
}
