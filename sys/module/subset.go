// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WriteSubset copies the lines of some modules from modules.dep, modules.alias and modules.softdep of a modules directory to another
// directory, as depmod wrote them. The files must include the dependencies of each module.
func WriteSubset(from, to string, files []string) error {
	kept, names := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		kept[f], names[nameOf(f)] = true, true
	}

	for file, keep := range map[string]func(line string) (bool, error){
		fileDep: func(line string) (bool, error) {
			file, deps, _ := strings.Cut(line, ":")
			if !kept[file] {
				return false, nil
			}

			for _, d := range strings.Fields(deps) {
				if !kept[d] {
					return false, fmt.Errorf("%s depends on %s, which is missing", file, d)
				}
			}

			return true, nil
		},
		fileAlias: func(line string) (bool, error) { // alias PATTERN NAME
			f := strings.Fields(line)

			return names[canonical(f[len(f)-1])], nil
		},
		fileSoftdep: func(line string) (bool, error) { // softdep NAME pre: NAME… post: NAME…
			f := strings.Fields(line)

			return len(f) > 1 && names[canonical(f[1])], nil
		},
	} {
		if err := writeLines(filepath.Join(from, file), filepath.Join(to, file), keep); err != nil {
			return fmt.Errorf("kernel modules index: %w", err)
		}
	}

	return nil
}

// writeLines writes the lines of a file for which keep returns true. A missing file has no lines.
func writeLines(from, to string, keep func(line string) (bool, error)) error {
	text, err := os.ReadFile(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	var out strings.Builder

	for _, line := range lines(text) {
		ok, err := keep(line)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}

		if ok {
			out.WriteString(line + "\n")
		}
	}

	return os.WriteFile(to, []byte(out.String()), 0o644)
}

// Closure returns the files, relative to the modules directory, that loading the names would insert, in order and each once. An
// initramfs needs them. An unknown name is an error; a built-in one adds none.
func (x *Index) Closure(names ...string) ([]string, error) {
	l := &Loader{}

	var files []string

	l.Insert = func(file, _ string) error {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}

		return nil
	}

	for _, n := range names {
		targets := x.Resolve(n)
		if len(targets) == 0 {
			return nil, fmt.Errorf("%s: %w", n, ErrNotFound)
		}

		for _, target := range targets {
			if err := l.load(x, target, nil, map[string]bool{}); err != nil {
				return nil, err
			}
		}
	}

	return files, nil
}
