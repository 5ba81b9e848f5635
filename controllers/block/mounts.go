// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/sys/mount"
	"github.com/seed-59268b81/talos/sys/power"
)

const mib = 1 << 20

// Mounts mounts real volumes.
type Mounts struct{}

// Mount implements Mounter.
func (Mounts) Mount(ctx context.Context, volume string, s block.VolumeStatusSpec, readOnly bool) error {
	spec := s.MountSpec

	mounted, err := mountedAt(s.MountLocation, spec.TargetPath)
	if err != nil {
		return err
	}

	if !mounted {
		p := mount.Point{
			Source: s.MountLocation, Target: spec.TargetPath, FSType: s.Filesystem.String(), Flags: mount.NoSuid | mount.NoDev,
		}

		if spec.NoExec {
			p.Flags |= mount.NoExec
		}

		if readOnly {
			p.Flags |= mount.ReadOnly
		}

		if err := p.Mount(); err != nil {
			return err
		}
	}

	if readOnly {
		return nil
	}

	if err := grow(ctx, s); err != nil {
		return err
	}

	return makeFolders(volume, spec)
}

// mountedAt reports whether the source is mounted at the target already, by an earlier attempt that failed later. Another mount there
// does not count, and is hidden by the volume: early boot mounts a small tmpfs on /var.
func mountedAt(source, target string) (bool, error) {
	table, err := mount.Table()

	return slices.ContainsFunc(table, func(e mount.Entry) bool { return e.Target == target && e.Source == source }), err
}

// grow grows an XFS to the size of its partition, which may have grown before this mount or an earlier one.
func grow(ctx context.Context, s block.VolumeStatusSpec) error {
	if s.Filesystem != block.FilesystemTypeXFS {
		return nil
	}

	found, err := Devices{}.Probe(s.MountLocation)
	if err != nil {
		return fmt.Errorf("grow %s: %w", s.MountLocation, err)
	}

	// XFS does not use a tail that is too small.
	if found.Name != blkid.XFS || found.Size+mib > found.DeviceSize {
		return nil
	}

	if out, err := exec.CommandContext(ctx, "/usr/sbin/xfs_growfs", "-d", s.MountSpec.TargetPath).CombinedOutput(); err != nil {
		return fmt.Errorf("grow %s: xfs_growfs: %w: %s", s.MountLocation, err, bytes.TrimSpace(out))
	}

	return nil
}

// Writable implements Mounter.
func (Mounts) Writable(target string) error {
	flags, err := flagsOf(target)
	if err != nil {
		return err
	}

	return mount.Remount(target, flags&^mount.ReadOnly)
}

// flagsOf returns the flags that a remount must repeat.
func flagsOf(target string) (uintptr, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return 0, fmt.Errorf("flags of %s: %w", target, err)
	}

	// These ST_ flags have the same numbers as the MS_ flags.
	return uintptr(st.Flags) & (mount.ReadOnly | mount.NoSuid | mount.NoDev | mount.NoExec), nil
}

// Abandon implements Mounter.
func (Mounts) Abandon(target string) error {
	flags, err := flagsOf(target)
	if err == nil {
		err = mount.Remount(target, flags|mount.ReadOnly)
	}

	if err != nil {
		err = errors.Join(err, power.Flush())
	}

	return err
}

// makeFolders creates the folders of a volume, and corrects the owner and mode of those that exist.
func makeFolders(volume string, spec block.MountSpec) error {
	folders := []layout.Folder{{Path: layout.VarDir, Mode: spec.FileMode, UID: spec.UID}}
	if volume == block.VolumeEphemeral {
		folders = append(folders, layout.EphemeralFolders...)
	}

	for _, f := range folders {
		path := filepath.Join(spec.TargetPath, strings.TrimPrefix(f.Path, layout.VarDir)) // a test mounts elsewhere

		if err := makeFolder(path, f.Mode, f.UID); err != nil {
			return err
		}
	}

	return nil
}

func makeFolder(path string, mode uint32, uid int) error {
	want := os.FileMode(mode).Perm()
	if mode&unix.S_ISVTX != 0 {
		want |= os.ModeSticky
	}

	if err := os.Mkdir(path, want.Perm()); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}

	// Change only what differs: each change of an inode is a write to the disk.
	st, err := os.Stat(path)
	if err != nil {
		return err
	}

	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != uid {
		if err := os.Chown(path, uid, uid); err != nil {
			return err
		}
	}

	if st.Mode()&(os.ModePerm|os.ModeSticky) != want {
		return os.Chmod(path, want)
	}

	return nil
}
