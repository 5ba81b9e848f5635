// SPDX-License-Identifier: Apache-2.0

package house

import (
	"slices"
	"testing"
)

// unwatched are packages with tests that do not look for leaked goroutines, with the reason.
var unwatched = map[string]string{
	"test/leak":    "is what looks",
	"test/e2e":     "drives machines; test/host finds what is left of them",
	"test/budgets": "drives machines; test/host finds what is left of them",
}

// TestLeaksFailEveryPackage wants the tests of every package to fail when a goroutine is left. That a TestMain is there and calls
// package leak is seen from the import, which nothing else needs.
func TestLeaksFailEveryPackage(t *testing.T) {
	const watcher = module + "test/leak"

	for _, p := range allPackages(t) {
		tests := slices.Concat(p.TestImports, p.XTestImports)
		watched := slices.Contains(tests, watcher)
		_, known := unwatched[p.ImportPath[len(module):]]

		switch {
		case len(tests) == 0 || watched != known:
		case known:
			t.Errorf("%s looks for leaks: remove it from unwatched", p.ImportPath)
		default:
			t.Errorf("%s: no test fails when a goroutine is left; write main_test.go:\n\tfunc TestMain(m *testing.M) { leak.Main(m) }", p.ImportPath)
		}
	}
}
