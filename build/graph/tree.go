// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// walk calls visit for root and everything below it.
func walk(root string, visit func(path, rel string, info fs.FileInfo) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		return visit(path, rel, info)
	})
}

// hashTree hashes names, kinds, modes and contents below dir. Times and owners do not count: they differ between builds.
func hashTree(dir string) (string, error) {
	h := sha256.New()

	err := walk(dir, func(path, rel string, info fs.FileInfo) error {
		fmt.Fprintf(h, "%q %v ", rel, info.Mode())

		switch {
		case info.IsDir():
			fmt.Fprintln(h)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}

			fmt.Fprintf(h, "%q\n", target)
		case info.Mode().IsRegular():
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
			return fmt.Errorf("%s: a result has only files, folders and links, not %v", rel, info.Mode().Type())
		}

		return nil
	})

	return hex.EncodeToString(h.Sum(nil)), err
}

// publish replaces out/to by links to result/from. It changes nothing if out/to has these links already.
func publish(result, from, out, to string) error {
	src, dst := filepath.Join(result, from), filepath.Join(out, to)

	info, err := os.Lstat(src)
	if err != nil {
		return fmt.Errorf("the step did not create %s: %w", from, err)
	}

	if same, err := shown(src, dst); err != nil || same {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}

	// Create it under another name and rename it, so that a running program keeps the old file.
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

// shown reports whether dst is the same tree as src, with links to the same files.
func shown(src, dst string) (bool, error) {
	want, err := infos(src)
	if err != nil {
		return false, err
	}

	got, err := infos(dst)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}

	return maps.EqualFunc(want, got, func(a, b fs.FileInfo) bool {
		return a.IsDir() && a.Mode() == b.Mode() || !a.IsDir() && os.SameFile(a, b)
	}), err
}

// infos returns root and everything below it, by relative path.
func infos(root string) (map[string]fs.FileInfo, error) {
	found := map[string]fs.FileInfo{}

	return found, walk(root, func(_, rel string, info fs.FileInfo) error {
		found[rel] = info

		return nil
	})
}

// LinkTree copies the tree src to dst with hard links: it creates folders, and links files and symbolic links. It adds to
// existing folders; an existing file is an error.
func LinkTree(src, dst string) error {
	return walk(src, func(path, rel string, info fs.FileInfo) error {
		target := filepath.Join(dst, rel)
		if !info.IsDir() {
			return os.Link(path, target)
		}

		if err := os.MkdirAll(target, info.Mode().Perm()); err != nil {
			return err
		}

		return os.Chmod(target, info.Mode().Perm())
	})
}
