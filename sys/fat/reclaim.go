// SPDX-License-Identifier: Apache-2.0

package fat

import "fmt"

// maxDepth limits how deep folders are.
const maxDepth = 32

// Reclaim frees the clusters of no file, which a power cut leaves, and returns their size in bytes. If a folder or a chain cannot be read, it
// frees nothing.
func (f *FS) Reclaim() (int64, error) {
	used := make([]bool, f.clusters()+2)

	root, err := f.folder(f.root)
	if err == nil {
		err = f.mark(used, root, 0)
	}

	if err != nil {
		return 0, fmt.Errorf("look for lost clusters: %w", err)
	}

	var lost []uint32

	for c := uint32(2); f.valid(c); c++ {
		if v := f.next(c); v != 0 && v != badCluster && !used[c] {
			lost = append(lost, c)
		}
	}

	f.unlink(lost)

	if err := f.store(lost); err != nil {
		return 0, fmt.Errorf("free lost clusters: %w", err)
	}

	return int64(len(lost)) * f.cluster, nil
}

// mark marks the clusters of a folder and everything in it. A cluster of two files is an error.
func (f *FS) mark(used []bool, d *folder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("folders are deeper than %d", maxDepth)
	}

	if err := markAll(used, d.chain); err != nil {
		return err
	}

	for _, e := range d.entries {
		switch {
		case e.Name == "." || e.Name == "..":
		case e.Folder:
			inner, err := f.folder(e.first)
			if err == nil {
				err = f.mark(used, inner, depth+1)
			}

			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
		default:
			chain, err := f.clustersOf(e)
			if err == nil {
				err = markAll(used, chain)
			}

			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
		}
	}

	return nil
}

func markAll(used []bool, chain []uint32) error {
	for _, c := range chain {
		if used[c] {
			return fmt.Errorf("cluster %d is used twice", c)
		}

		used[c] = true
	}

	return nil
}
