// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// libraryDirs are the library folders of Debian's loader, in the merged layout.
var libraryDirs = []string{"usr/lib/x86_64-linux-gnu", "usr/lib", "usr/lib64"}

// mergedDirs are the folders of the root that are links into usr on a merged system. Packages still have files in them.
var mergedDirs = []string{"bin", "sbin", "lib", "lib64"}

// Selection is a set of files of an unpacked tree, by their paths in the merged layout: usr/sbin/mkfs.xfs, even if
// the package has sbin/mkfs.xfs.
type Selection struct {
	tree  string
	files map[string]bool
}

// Select returns an empty selection of an unpacked tree.
func Select(tree string) *Selection { return &Selection{tree: tree, files: map[string]bool{}} }

// merged returns the path of a file in the merged layout, where the root's bin, sbin and lib are links into usr.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if first, _, _ := strings.Cut(name, "/"); slices.Contains(mergedDirs, first) {
		return "usr/" + name
	}

	return name
}

// locate returns the path in the unpacked tree of a file of the merged layout.
func (s *Selection) locate(name string) (string, error) {
	candidates := []string{name}
	if rest, ok := strings.CutPrefix(name, "usr/"); ok {
		candidates = append(candidates, rest)
	}

	for _, c := range candidates {
		full := filepath.Join(s.tree, c)
		if _, err := os.Lstat(full); err == nil {
			return full, nil
		}
	}

	return "", fmt.Errorf("debian: no file %s in the unpacked packages: %w", name, fs.ErrNotExist)
}

// Add adds the files that match the patterns (of path.Match, in the merged layout) and all files below a folder that
// matches. It also adds the targets of symbolic links, and the shared libraries that the files need. A pattern without a
// match is an error.
func (s *Selection) Add(patterns ...string) error {
	for _, pattern := range patterns {
		names, err := s.match(merged(pattern))
		if err != nil {
			return err
		}

		for _, name := range names {
			if err := s.add(name); err != nil {
				return err
			}
		}
	}

	return nil
}

func (s *Selection) match(pattern string) ([]string, error) {
	var names []string

	for _, p := range []string{pattern, strings.TrimPrefix(pattern, "usr/")} {
		found, err := filepath.Glob(filepath.Join(s.tree, p))
		if err != nil {
			return nil, fmt.Errorf("debian: pattern %q: %w", pattern, err)
		}

		for _, f := range found {
			err := filepath.WalkDir(f, func(file string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}

				rel, err := filepath.Rel(s.tree, file)
				names = append(names, merged(rel))

				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}

	if len(names) == 0 {
		return nil, fmt.Errorf("debian: nothing in the unpacked packages matches %q", pattern)
	}

	return names, nil
}

// add adds one file and the files that it needs.
func (s *Selection) add(name string) error {
	if s.files[name] {
		return nil
	}

	full, err := s.locate(name)
	if err != nil {
		return err
	}

	s.files[name] = true

	info, err := os.Lstat(full)
	if err != nil {
		return err
	}

	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(full)
		if err != nil {
			return err
		}

		if !path.IsAbs(target) {
			target = path.Join("/", path.Dir(name), target)
		}

		if err := s.add(merged(target)); err != nil {
			return fmt.Errorf("debian: link %s: %w", name, err)
		}

		return nil
	}

	needs, err := needed(full)
	if err != nil {
		return fmt.Errorf("debian: %s: %w", name, err)
	}

	for _, n := range needs {
		if err := s.addLibrary(n, path.Dir(name)); err != nil {
			return fmt.Errorf("debian: %s needs %s: %w", name, n, err)
		}
	}

	return nil
}

// addLibrary adds a library by its path (a loader) or by its name.
func (s *Selection) addLibrary(name, origin string) error {
	if path.IsAbs(name) {
		return s.add(merged(name))
	}

	for _, dir := range append(slices.Clone(libraryDirs), origin) {
		candidate := path.Join(dir, name)
		if _, err := s.locate(candidate); err == nil {
			return s.add(candidate)
		}
	}

	return fmt.Errorf("not in the listed packages; add its package to the set: %w", fs.ErrNotExist)
}

// needed returns the loader and the libraries that an ELF file needs. For other files it returns nothing.
func needed(file string) ([]string, error) {
	f, err := elf.Open(file)
	if format := (*elf.FormatError)(nil); errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()

	var names []string

	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}

		raw, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		if err != nil {
			return nil, fmt.Errorf("read loader: %w", err)
		}

		names = append(names, strings.TrimRight(string(raw), "\x00"))
	}

	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read needed libraries: %w", err)
	}

	return append(names, libraries...), nil
}

// Files returns the paths of the selected files, sorted.
func (s *Selection) Files() []string { return slices.Sorted(maps.Keys(s.files)) }

// MoveTo moves the selected files into dir. It clears set-user-ID bits: our programs run as the user that starts them.
func (s *Selection) MoveTo(dir string) error {
	for _, name := range s.Files() {
		from, err := s.locate(name)
		if err != nil {
			return err
		}

		to := filepath.Join(dir, name)

		info, err := os.Lstat(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to))
		}

		if err == nil && info.Mode().IsRegular() {
			err = os.Chmod(to, info.Mode().Perm())
		}

		if err != nil {
			return fmt.Errorf("debian: move %s: %w", name, err)
		}
	}

	return nil
}

// MergeUsr creates the links of a merged /usr in dir: bin, sbin, lib and lib64.
func MergeUsr(dir string) error {
	for _, name := range mergedDirs {
		if err := os.MkdirAll(filepath.Join(dir, "usr", name), 0o755); err != nil {
			return err
		}

		if err := os.Symlink("usr/"+name, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("debian: %w", err)
		}
	}

	return nil
}
