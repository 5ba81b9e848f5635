// SPDX-License-Identifier: Apache-2.0

package components

import (
	"path/filepath"
	"slices"
	"strings"
)

// The sources, below components/, that make a kind of result. They are inputs of the steps whose work is our own code,
// and not a compiler's: a change of them makes these steps anew.
var (
	setRecipe    = []string{"sets.go", "debian/debian.go", "debian/selection.go"}
	rootfsRecipe = []string{"rootfs.go", "debian/selection.go", "graph/tree.go"}
	imageRecipe  = []string{"images.go", "imagerecipe.go", "imagetrees.go", "ociimage/layer.go", "ociimage/layout.go", "debian/selection.go"}
)

// recipeHash hashes sources of ours.
func recipeHash(root string, sources []string) (string, error) {
	return hashFiles(filepath.Join(root, "components"), func(rel string) bool {
		return strings.HasSuffix(rel, ".go") && slices.Contains(sources, rel)
	})
}
