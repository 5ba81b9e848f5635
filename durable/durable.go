// SPDX-License-Identifier: Apache-2.0

// Package durable replaces files. Whoever reads one, or a power cut at any moment, finds the old content or the new one, whole;
// when a replacement has returned, the next boot finds the new one. The rule, which stands here only: write beside the file, sync
// it, rename it over the file, sync the folder.
//
// Two writers of one file in one process must take turns; other processes need not. What a power cut leaves beside the file is
// replaced the next time. google/renameio was looked at: it syncs no folder, gives each leftover another name, and has no
// replacement of files on Windows.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Disk is what a replacement does to a file system; a test cuts the power between any two of these.
type Disk interface {
	// WriteSynced writes a new file and returns when its content is on the disk.
	WriteSynced(path string, content []byte, mode fs.FileMode) error
	Rename(from, to string) error
	// SyncDir returns when the names in a folder are on the disk.
	SyncDir(path string) error
}

// Files are the real disk.
type Files struct {
	// Volatile files do not wait for the disk: they lie on tmpfs, or are made again at the next boot.
	Volatile bool
}

// Write replaces a file by one with this content and, less the umask, this mode.
func Write(path string, content []byte, mode fs.FileMode) error {
	return WriteTo(Files{}, path, content, mode)
}

// WriteTo is Write on a disk.
func WriteTo(d Disk, path string, content []byte, mode fs.FileMode) error {
	return replace(d, path, func(next string) error { return d.WriteSynced(next, content, mode) })
}

// Replace replaces a file by what fill writes, which may also set its owner. When fill fails, the file stays as it is.
func Replace(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return Files{}.Replace(path, mode, fill)
}

// Replace is the function Replace.
func (d Files) Replace(path string, mode fs.FileMode, fill func(*os.File) error) error {
	return replace(d, path, func(next string) error { return d.write(next, mode, fill) })
}

func replace(d Disk, path string, write func(next string) error) error {
	// The number keeps two commands of a user apart; process 1 has the same one at each boot.
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

// write leaves no file when it fails.
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

// beside is the name of the file that is to replace another. Programs that watch a folder leave names with a dot alone.
func beside(path, process string) string {
	dir, name := filepath.Split(path)

	return filepath.Join(dir, "."+name+"."+process+".new")
}

// Leftovers are what processes that were killed have left beside a file.
func Leftovers(path string) ([]string, error) { return filepath.Glob(beside(path, "*")) }

// Target is the file that a symbolic link leads to; any other path is its own. A link that a user made stays one when its target is
// replaced.
func Target(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}

	return path
}
