// SPDX-License-Identifier: Apache-2.0

// Package durable replaces files atomically. A reader finds the complete old or new content at any time, also after a power cut.
// After a replacement has returned, the next boot finds the new content. The steps, which are in this package only: write a file
// beside the old one, sync it, rename it over the old one, sync the folder.
//
// Two writers of one file in one process must take turns; different processes need not. A file that a power cut leaves behind is
// replaced by the next write. google/renameio was rejected: it does not sync the folder, gives each leftover another name, and
// cannot replace files on Windows.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Disk has the operations of a replacement. A test cuts the power between any two of them.
type Disk interface {
	// WriteSynced writes a new file and returns when its content is on disk.
	WriteSynced(path string, content []byte, mode fs.FileMode) error
	Rename(from, to string) error
	// SyncDir returns when the names in a folder are on disk.
	SyncDir(path string) error
}

// Files are the real disk.
type Files struct {
	// Volatile files are not synced: they are on tmpfs, or are created again at the next boot.
	Volatile bool
}

// Write replaces a file with the content and, less the umask, the mode.
func Write(path string, content []byte, mode fs.FileMode) error {
	return WriteTo(Files{}, path, content, mode)
}

// WriteTo is Write on the given disk.
func WriteTo(d Disk, path string, content []byte, mode fs.FileMode) error {
	return replace(d, path, func(next string) error { return d.WriteSynced(next, content, mode) })
}

// Replace replaces a file with what fill writes. fill may also set the owner. When fill fails, the old file stays.
func Replace(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return Files{}.Replace(path, mode, fill)
}

// Replace is the function Replace.
func (d Files) Replace(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return replace(d, path, func(next string) error { return d.write(next, mode, fill) })
}

func replace(d Disk, path string, write func(next string) error) error {
	// The process id separates commands that run at the same time. Process 1 has the same one at each boot.
	next := beside(path, strconv.Itoa(os.Getpid()))

	if err := write(next); err != nil {
		return err
	}

	if err := d.Rename(next, path); err != nil {
		return err
	}

	return d.SyncDir(filepath.Dir(path))
}

// WriteSynced implements Disk.
func (d Files) WriteSynced(path string, content []byte, mode fs.FileMode) error {
	return d.write(path, mode, func(f *os.File) error {
		_, err := f.Write(content)

		return err
	})
}

// write writes a new file, and removes it on error.
func (d Files) write(path string, mode fs.FileMode, fill func(*os.File) error) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}

	err = fill(f)
	if err == nil && !d.Volatile {
		err = f.Sync()
	}

	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}

	return nil
}

// Rename implements Disk.
func (d Files) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Remove(from))
	}

	return nil
}

// SyncDir implements Disk.
func (d Files) SyncDir(path string) error {
	if d.Volatile {
		return nil
	}

	return SyncDir(path)
}

// beside returns the path of the new file beside the old one. Programs that watch a folder ignore names with a leading dot.
func beside(path, process string) string {
	dir, name := filepath.Split(path)

	return filepath.Join(dir, "."+name+"."+process+".new")
}

// Leftovers returns the files that killed processes have left beside a file.
func Leftovers(path string) ([]string, error) { return filepath.Glob(beside(path, "*")) }

// Target returns the file that a symbolic link leads to, and any other path as it is. Replace the target to keep a user's link.
func Target(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}

	return path
}
