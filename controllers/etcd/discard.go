// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/durable"
)

// discardedDir is where the data of a removed member is kept until the machine is a member again.
const discardedDir = DataDir + "/removed"

// discard sets the data of a removed member aside. It does nothing if the data is another member's.
func discard(root string, of identity) error {
	dir := filepath.Join(root, DataDir)

	held, err := readIdentity(dir)
	if err != nil || held != of {
		return err
	}

	if err := forgetDiscarded(root); err != nil {
		return err
	}

	err = os.Rename(filepath.Join(dir, "member"), filepath.Join(root, discardedDir))
	if err == nil {
		err = durable.SyncDir(dir)
	}

	if err != nil {
		return fmt.Errorf("set the data of etcd's removed member aside: %w", err)
	}

	return nil
}

// forgetDiscarded deletes the data that discard has set aside.
func forgetDiscarded(root string) error {
	path := filepath.Join(root, discardedDir)

	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}

	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("delete the data of etcd's removed member: %w", err)
	}

	return nil
}
