// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write brings a folder on disk in line: missing and differing files are replaced whole, others removed. Below root,
// which is "/" outside of tests. Ownership is set only when running as root.
func Write(root string, folder Folder) error {
	dir := filepath.Join(root, folder.Path)

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder %s: %w", folder.Path, err)
	}

	if err := errors.Join(os.Chmod(dir, 0o700), chown(dir, folder.UID)); err != nil {
		return fmt.Errorf("folder %s: %w", folder.Path, err)
	}

	for _, name := range sortedKeys(folder.Files) {
		if err := writeFile(filepath.Join(dir, name), folder.Files[name], folder.UID); err != nil {
			return fmt.Errorf("file %s/%s: %w", folder.Path, name, err)
		}
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("folder %s: %w", folder.Path, err)
	}

	for _, entry := range entries {
		if _, wanted := folder.Files[entry.Name()]; wanted {
			continue
		}

		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("folder %s: remove %s: %w", folder.Path, entry.Name(), err)
		}
	}

	return nil
}

// writeFile replaces the file by rename: a reader sees the old or the new one.
func writeFile(path string, file File, uid int) error {
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, file.Contents) {
		return errors.Join(os.Chmod(path, file.Mode), chown(path, uid))
	}

	temporary := path + ".new"

	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	if err := os.WriteFile(temporary, file.Contents, file.Mode); err != nil {
		return err
	}

	if err := errors.Join(os.Chmod(temporary, file.Mode), chown(temporary, uid)); err != nil {
		return err
	}

	return os.Rename(temporary, path)
}

func chown(path string, uid int) error {
	if os.Geteuid() != 0 {
		return nil
	}

	return os.Chown(path, uid, uid)
}
