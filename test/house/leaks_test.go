// SPDX-License-Identifier: Apache-2.0

package house

import (
	"slices"
	"testing"
)

// unwatched are packages whose tests do not check for leaked goroutines, with the reason.
var unwatched = map[string]string{
	"test/leak":    "is the check itself",
	"test/e2e":     "runs machines; test/host finds what they leave",
	"test/budgets": "runs machines; test/host finds what they leave",
}

// TestLeaksFailEveryPackage checks that the tests of every package fail if a goroutine leaks. It checks the import of package leak,
// which only a TestMain needs.
func TestLeaksFailEveryPackage(t *testing.T) {
	const watcher = module + "test/leak"

	for _, p := range allPackages(t) {
		tests := slices.Concat(p.TestImports, p.XTestImports)
		watched := slices.Contains(tests, watcher)
		_, known := unwatched[p.ImportPath[len(module):]]

		switch {
		case len(tests) == 0 || watched != known:
		case known:
			t.Errorf("%s checks for leaks: remove it from unwatched", p.ImportPath)
		default:
			t.Errorf("%s: the tests do not fail if a goroutine leaks: add main_test.go:\n\tfunc TestMain(m *testing.M) { leak.Main(m) }", p.ImportPath)
		}
	}
}
