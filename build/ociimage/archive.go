// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Archive writes a layout as an archive. Equal layouts have equal archives.
func Archive(path, layout string) (err error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	w := tar.NewWriter(out)

	// WalkDir goes in lexical order.
	err = filepath.WalkDir(layout, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}

		name, err := filepath.Rel(layout, file)
		if err != nil {
			return err
		}

		return add(w, filepath.ToSlash(name), file)
	})
	if err != nil {
		return fmt.Errorf("archive %s: %w", layout, err)
	}

	return w.Close()
}

func add(w *tar.Writer, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return err
	}

	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), Format: tar.FormatPAX}); err != nil {
		return err
	}

	_, err = io.Copy(w, f)

	return err
}
