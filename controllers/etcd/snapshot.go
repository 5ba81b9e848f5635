// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/layout"
)

// SnapshotPath is where an uploaded snapshot is kept until the bootstrap that begins with it.
const SnapshotPath = layout.EtcdSnapshotFile

// The errors of KeepSnapshot, beside those of CheckBootstrap; match them with errors.Is.
var (
	ErrUploading     = errors.New("a snapshot is being sent to this node already")
	ErrEmptySnapshot = errors.New("the snapshot is empty: send a file that talosctl etcd snapshot saved")
)

// uploading is held while a snapshot is written: all uploads use the same file.
var uploading sync.Mutex

// KeepSnapshot writes the snapshot where a bootstrap finds it, and replaces an earlier one. The file is complete or missing, never
// partial. Only a control plane node without data accepts a snapshot. root is "/" outside of tests.
func KeepSnapshot(ctx context.Context, st state.State, root string, snapshot io.Reader) error {
	facts, err := gatherFacts(ctx, st, root, true)
	if err != nil {
		return err
	}

	// The clock does not matter yet. After a snapshot that could not be restored, another may be sent.
	facts.TimeUsable, facts.HasSnapshot, facts.Asked = true, true, false

	if err := CheckBootstrap(facts, etcdRecover); err != nil {
		return err
	}

	if !uploading.TryLock() {
		return ErrUploading
	}
	defer uploading.Unlock()

	return writeSnapshot(filepath.Join(root, SnapshotPath), snapshot)
}

func writeSnapshot(path string, snapshot io.Reader) error {
	err := durable.Replace(path, 0o600, func(file *os.File) error {
		size, err := io.Copy(file, snapshot)
		if err != nil {
			return fmt.Errorf("after %d bytes: %w", size, err)
		}

		if size == 0 {
			return ErrEmptySnapshot
		}

		// etcdutl reads it, as etcd's user.
		return own(file.Name())
	})
	if err != nil {
		return fmt.Errorf("store the etcd snapshot: %w", err)
	}

	return nil
}

// own makes etcd's user the owner of a file. Tests that do not run as root skip it.
func own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}

	return os.Chown(path, layout.UserEtcd, layout.UserEtcd)
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return nil
}
