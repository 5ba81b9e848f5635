// SPDX-License-Identifier: Apache-2.0

// Package unpack writes the files of an archive that is not trusted.
//
// Names and links of an archive may point anywhere. Files are written through an os.Root, so nothing is written or followed outside
// the directory. The caller owns the files. Devices, sockets and pipes are left out.
package unpack

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Into unpacks a tar.gz archive into a directory. It creates the directory if necessary.
func Into(directory string, archive io.Reader) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}

	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}

	root, err := os.OpenRoot(directory)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}

	defer root.Close()

	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return drain(unzipped, archive)
		}

		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}

		if err := write(root, header, files); err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
	}
}

// drain reads the rest of the stream: a node reports at its end that it left something out.
func drain(readers ...io.Reader) error {
	for _, r := range readers {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
	}

	return nil
}

func write(root *os.Root, header *tar.Header, content io.Reader) error {
	name, err := local(header.Name)
	if err != nil || name == "." {
		return err
	}

	mode := fs.FileMode(header.Mode).Perm()

	// The directory of a file may come after it, or not at all.
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}

	switch header.Typeflag {
	case tar.TypeDir:
		// The owner must be able to write, so that files can be created in the directory.
		return root.MkdirAll(name, mode|0o700)
	case tar.TypeReg:
		return writeFile(root, name, mode, content)
	case tar.TypeSymlink:
		return symlink(root, name, header.Linkname)
	case tar.TypeLink:
		target, err := local(header.Linkname)
		if err != nil {
			return err
		}

		return root.Link(target, name)
	default:
		return nil
	}
}

// local returns a name relative to the directory. Names in archives may begin with a slash.
func local(name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(name, "./")), "/")
	if strings.Contains("/"+name+"/", "/../") {
		return "", errors.New("the name leads out of the directory")
	}

	return cmp.Or(filepath.FromSlash(clean), "."), nil
}

func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	// An existing file may be a link, or read-only.
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}

	_, err = io.Copy(file, content)

	return errors.Join(err, file.Close())
}

// symlink creates the link as it is, even if its target is outside the directory: root does not follow such links.
func symlink(root *os.Root, name, target string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return root.Symlink(target, name)
}
