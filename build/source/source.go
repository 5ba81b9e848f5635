// SPDX-License-Identifier: Apache-2.0

// Package source hashes source files. The sources of the build are inputs of the steps that they implement: if the sources
// change, these steps run again.
package source

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/build/graph"
)

// Inputs returns the inputs of a step: values, and the hash of the sources of the build that implement it. See Of.
func Inputs(root string, names []string, values ...string) func(context.Context, graph.Results) ([]string, error) {
	return func(context.Context, graph.Results) ([]string, error) {
		hash, err := Of(root, names...)

		return append(slices.Clip(values), hash), err
	}
}

// Of returns the hash of sources of the build. names are files and folders below build/; tests do not count.
func Of(root string, names ...string) (string, error) {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root, "build", name)); err != nil {
			return "", fmt.Errorf("hash sources: %w", err)
		}
	}

	return Hash(filepath.Join(root, "build"), func(rel string) bool {
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return false
		}

		return slices.Contains(names, rel) || slices.Contains(names, filepath.Dir(rel))
	})
}

// Hash hashes names and contents of the regular files below dir that want selects. It skips hidden folders and the
// output folder.
func Hash(dir string, want func(rel string) bool) (string, error) {
	h := sha256.New()

	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}

		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "out") {
				return filepath.SkipDir
			}

			return nil
		}

		if !d.Type().IsRegular() || !want(rel) {
			return nil
		}

		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}

		fmt.Fprintf(h, "%q %d ", rel, len(raw))
		h.Write(raw)

		return nil
	})

	return fmt.Sprintf("%x", h.Sum(nil)), err
}
