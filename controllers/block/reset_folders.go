// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

// ResetFolders is the World of a reset on a machine without disks: its volumes are folders.
type ResetFolders struct {
	// Root is where the folders are, "/" on a machine.
	Root string
	// Values are those of META.
	Values reset.Meta
}

// FolderLabels are the volumes of a machine without disks that can be wiped.
func FolderLabels() []string {
	return []string{layout.PartitionEphemeral, layout.PartitionMeta, layout.PartitionState}
}

// Meta implements reset.World.
func (w *ResetFolders) Meta() reset.Meta { return w.Values }

// Partition implements reset.World.
func (w *ResetFolders) Partition(ctx context.Context, label string) error {
	switch label {
	case layout.PartitionState:
		return empty(ctx, filepath.Join(w.Root, layout.StateDir), layout.PartitionMeta) // the file with META is there
	case layout.PartitionEphemeral:
		return empty(ctx, filepath.Join(w.Root, layout.VarDir), "")
	default:
		return nil
	}
}

// Disk implements reset.World.
func (w *ResetFolders) Disk(context.Context, reset.Disk) error { return reset.ErrMissing }

// Table implements reset.World.
func (w *ResetFolders) Table(context.Context) error { return nil }

// empty removes what is in a folder, except one name. What is mounted there is not the machine's to remove, so it is unmounted first.
func empty(ctx context.Context, dir, except string) error {
	table, err := mount.Table()
	if err != nil {
		return err
	}

	for _, target := range mountsBelow(table, dir) {
		if err := mount.Unmount(target); err != nil {
			return err
		}
	}

	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}

	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}

		if e.Name() == except {
			continue
		}

		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}

	return syncFolder(dir)
}

// mountsBelow returns what is mounted below a folder, the last first. The folder may be a mount itself, or a part of one.
func mountsBelow(table []mount.Entry, dir string) (targets []string) {
	for _, e := range slices.Backward(table) {
		if strings.HasPrefix(e.Target, strings.TrimSuffix(dir, "/")+"/") {
			targets = append(targets, e.Target)
		}
	}

	return targets
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()

	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}

	return nil
}
