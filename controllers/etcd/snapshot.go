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

// SnapshotPath is where a snapshot waits for the bootstrap that begins with it.
const SnapshotPath = layout.EtcdSnapshotFile

// The reasons for which a snapshot is not taken, beside those of a bootstrap; match them with errors.Is.
var (
	ErrUploading     = errors.New("a snapshot is being sent to this node already")
	ErrEmptySnapshot = errors.New("the snapshot is empty: send a file that talosctl etcd snapshot saved")
)

// uploading is held while a snapshot is written: there is one file for it.
var uploading sync.Mutex

// KeepSnapshot writes the snapshot where a bootstrap finds it, in place of one that was sent before. It is there in whole or
// not at all. Only a control plane node without data takes one. root is "/" outside of tests.
func KeepSnapshot(ctx context.Context, st state.State, root string, snapshot io.Reader) error {
	facts, err := gatherFacts(ctx, st, root)
	if err != nil {
		return err
	}

	// The clock does not matter yet, and after a snapshot that could not be restored another may be sent.
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

		// It is read by etcd's own tool, which runs as etcd does.
		return own(file.Name())
	})
	if err != nil {
		return fmt.Errorf("keep the etcd snapshot: %w", err)
	}

	return nil
}

// own gives what etcd reads or writes to etcd. Outside of tests that is root's to do.
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
