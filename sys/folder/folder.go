// SPDX-License-Identifier: Apache-2.0

// Package folder keeps a folder of small files in the wanted state: keys, certificates and configuration files of a program that
// runs as its own user. A file is replaced by rename; a file that is not wanted is removed.
package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/seed-59268b81/talos/durable"
)

// Folder is the wanted state of a folder; files that are not listed are removed.
type Folder struct {
	Path string
	UID  int
	// Files by name.
	Files map[string]File
}

// File is one file of a Folder.
type File struct {
	Contents []byte
	Mode     fs.FileMode
}

// Private is a file that only its owner can read.
func Private(contents []byte) File { return File{Contents: contents, Mode: 0o400} }

// Public is a file that every user with access to the folder can read.
func Public(contents []byte) File { return File{Contents: contents, Mode: 0o444} }

// Digest returns a short fingerprint of folders. It depends only on their contents, not on the node or the boot.
func Digest(folders []Folder) string {
	h := sha256.New()

	for _, folder := range folders {
		for _, name := range slices.Sorted(maps.Keys(folder.Files)) {
			file := folder.Files[name]
			fmt.Fprintf(h, "%s/%s %o %d %d\n", folder.Path, name, file.Mode, folder.UID, len(file.Contents))
			h.Write(file.Contents)
		}
	}

	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Write makes a folder on disk match: it replaces files that are missing or differ, and removes others. The folder is below root,
// which is "/" outside of tests. Ownership is set only when running as root.
func Write(root string, folder Folder) error {
	if err := Add(root, folder); err != nil {
		return err
	}

	dir := filepath.Join(root, folder.Path)

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

// Add writes the files of a folder and removes nothing: other programs have files there too.
func Add(root string, folder Folder) error {
	dir := filepath.Join(root, folder.Path)

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("folder %s: %w", folder.Path, err)
	}

	if err := protect(dir, 0o700, folder.UID); err != nil {
		return fmt.Errorf("folder %s: %w", folder.Path, err)
	}

	for _, name := range slices.Sorted(maps.Keys(folder.Files)) {
		if err := writeFile(filepath.Join(dir, name), folder.Files[name], folder.UID); err != nil {
			return fmt.Errorf("file %s/%s: %w", folder.Path, name, err)
		}
	}

	return nil
}

// writeFile replaces the file if it differs.
func writeFile(path string, file File, uid int) error {
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, file.Contents) {
		return protect(path, file.Mode, uid)
	}

	// All files are written again at each boot, from resources.
	return durable.Files{Volatile: true}.Replace(path, file.Mode, func(f *os.File) error {
		if _, err := f.Write(file.Contents); err != nil {
			return err
		}

		return protect(f.Name(), file.Mode, uid)
	})
}

// protect sets the mode and the owner if they differ. Setting equal ones is an event for programs that watch the folder, and an event
// of the folder itself makes the kubelet ignore its static pods for a while.
func protect(path string, mode fs.FileMode, uid int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}

	if info.Mode().Perm() != mode {
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}

	if owner, ok := info.Sys().(*syscall.Stat_t); os.Geteuid() != 0 || ok && int(owner.Uid) == uid && int(owner.Gid) == uid {
		return nil
	}

	return os.Chown(path, uid, uid)
}
