// SPDX-License-Identifier: Apache-2.0

package components

import (
	"path/filepath"
	"strings"
	"sync"
)

var recipes sync.Map // root → func() (string, error)

// recipeHash hashes the sources of this package and those below it. It is an input of the steps whose work is our own
// code, and not a compiler's.
func recipeHash(root string) (string, error) {
	once, _ := recipes.LoadOrStore(root, sync.OnceValues(func() (string, error) {
		return hashFiles(filepath.Join(root, "components"), func(rel string) bool {
			return strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go")
		})
	}))

	return once.(func() (string, error))()
}
