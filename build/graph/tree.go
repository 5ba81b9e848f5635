// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// hashTree hashes names, kinds, modes and contents below dir. Times and owners do not count: a build sets them as it
// likes.
func hashTree(dir string) (string, error) {
	h := sha256.New()

	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		fmt.Fprintf(h, "%q %v ", rel, info.Mode())

		switch {
		case d.IsDir():
			fmt.Fprintln(h)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}

			fmt.Fprintf(h, "%q\n", target)
		case d.Type().IsRegular():
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()

			fmt.Fprintf(h, "%d ", info.Size())

			if _, err := io.Copy(h, f); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: a result holds only files, folders and links, not %v", rel, d.Type())
		}

		return nil
	})
	if err != nil {
		return "", err
	}

	return hex.EncodeToString(h.Sum(nil)), nil
}

// publish makes out/to show what result/from holds. When it already does, nothing is touched.
func publish(result, from, out, to string) error {
	src, dst := filepath.Join(result, from), filepath.Join(out, to)

	info, err := os.Lstat(src)
	if err != nil {
		return fmt.Errorf("the step did not make %s: %w", from, err)
	}

	if same, err := shown(src, dst); err != nil || same {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}

	// Beside the place first, then renamed, so that a program which runs the old file at this moment is left alone.
	next := dst + ".next"
	if err := os.RemoveAll(next); err != nil {
		return err
	}

	if err := LinkTree(src, next); err != nil {
		return err
	}

	if info.IsDir() {
		if err := os.RemoveAll(dst); err != nil {
			return err
		}
	}

	return os.Rename(next, dst)
}

// shown reports whether dst is the same tree of the same files as src.
func shown(src, dst string) (bool, error) {
	differs := errors.New("differs")
	count := func(root string, visit func(rel string, info fs.FileInfo) error) (n int, err error) {
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}

			n++

			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}

			info, err := d.Info()
			if err != nil {
				return err
			}

			return visit(rel, info)
		})

		return n, err
	}

	want, err := count(src, func(rel string, info fs.FileInfo) error {
		got, err := os.Lstat(filepath.Join(dst, rel))

		switch {
		case errors.Is(err, fs.ErrNotExist):
			return differs
		case err != nil:
			return err
		case info.IsDir() && got.IsDir() && info.Mode() == got.Mode():
			return nil
		case info.IsDir() || !os.SameFile(info, got):
			return differs
		}

		return nil
	})
	if errors.Is(err, differs) {
		return false, nil
	} else if err != nil {
		return false, err
	}

	got, err := count(dst, func(string, fs.FileInfo) error { return nil })

	return want == got, err
}

// LinkTree makes dst a copy of src that shares its files: folders are made, files and symbolic links are hard-linked.
// Folders that are there already are added to; a file that is there already is an error.
func LinkTree(src, dst string) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}

		target := filepath.Join(dst, rel)
		if !d.IsDir() {
			return os.Link(path, target)
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		if err := os.MkdirAll(target, info.Mode().Perm()); err != nil {
			return err
		}

		return os.Chmod(target, info.Mode().Perm())
	})
}
