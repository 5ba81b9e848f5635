// SPDX-License-Identifier: Apache-2.0

// Package cpio writes the archive format of the kernel's initramfs: "newc", SVR4 without checksums (Linux,
// Documentation/driver-api/early-userspace/buffer-format.rst). All entries belong to root and have the same
// time, so that the same content gives the same bytes.
package cpio

import (
	"fmt"
	"io"
	"io/fs"
)

// Writer writes one archive.
type Writer struct {
	w     io.Writer
	mtime uint32
	inode uint32
}

// NewWriter returns a writer. mtime, in Unix seconds, is the time of every entry.
func NewWriter(w io.Writer, mtime uint32) *Writer { return &Writer{w: w, mtime: mtime} }

// The type bits of a mode.
const (
	typeFile   = 0o100000
	typeFolder = 0o040000
	typeChar   = 0o020000
)

// Folder adds a folder. Add parents before children.
func (w *Writer) Folder(name string, mode fs.FileMode) error {
	return w.entry(name, typeFolder|uint32(mode.Perm()), 0, 0, 0, nil)
}

// File adds a file with size bytes from r.
func (w *Writer) File(name string, mode fs.FileMode, size int64, r io.Reader) error {
	return w.entry(name, typeFile|uint32(mode.Perm()), 0, 0, size, r)
}

// CharDevice adds a character device.
func (w *Writer) CharDevice(name string, mode fs.FileMode, major, minor uint32) error {
	return w.entry(name, typeChar|uint32(mode.Perm()), major, minor, 0, nil)
}

// Close writes the trailer.
func (w *Writer) Close() error {
	w.inode = 0

	return w.entry("TRAILER!!!", 0, 0, 0, 0, nil)
}

func (w *Writer) entry(name string, mode, major, minor uint32, size int64, r io.Reader) error {
	if size < 0 || size > 0xffffffff {
		return fmt.Errorf("initramfs: %s: %d bytes do not fit the format (4 GiB)", name, size)
	}

	w.inode++

	links := 1
	if mode&typeFolder == typeFolder {
		links = 2
	}

	header := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		w.inode, mode, 0, 0, links, w.mtime, size, 0, 0, major, minor, len(name)+1, 0, name)

	if err := w.padded([]byte(header)); err != nil {
		return fmt.Errorf("initramfs: %s: %w", name, err)
	}

	if r == nil {
		return nil
	}

	n, err := io.Copy(w.w, io.LimitReader(r, size))
	if err == nil && n != size {
		err = fmt.Errorf("got %d bytes, want %d: %w", n, size, io.ErrUnexpectedEOF)
	}

	if err == nil {
		_, err = w.w.Write(make([]byte, (4-size%4)%4))
	}

	if err != nil {
		return fmt.Errorf("initramfs: %s: %w", name, err)
	}

	return nil
}

func (w *Writer) padded(b []byte) error {
	_, err := w.w.Write(append(b, make([]byte, (4-len(b)%4)%4)...))

	return err
}
