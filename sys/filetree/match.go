// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Match returns the paths in a folder whose names match a pattern (filepath.Match), sorted. A folder that does not exist has none. Unlike
// filepath.Glob it returns an error for a folder that cannot be read: it is not known what it has.
func Match(dir, pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}

	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	var paths []string

	for _, e := range entries {
		if ok, _ := filepath.Match(pattern, e.Name()); ok { // the pattern is valid
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}

	return paths, nil
}
