// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// networkCase is a line of the table in test/e2e/doc.go: a case, the folder of its test, the test, and its step.
var networkCase = regexp.MustCompile(`(?m)^//\t(\S.*?) {2,}(\S+) {2,}(Test\w+)(?:/(.+))?$`)

// networkCases is how many there are: 18 of the network, 2 of ethernet, 2 of the firewall, 4 of probes, and udev.
const networkCases = 27

// TestNetworkCases checks that the tests exist that show the network on a real kernel.
func TestNetworkCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "test", "e2e", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}

	cases := networkCase.FindAllStringSubmatch(string(text), -1)
	if len(cases) != networkCases {
		t.Errorf("got %d cases, want %d", len(cases), networkCases)
	}

	steps := e2eTests(t)
	seen := map[string]bool{}
	functions := map[string]map[string]*ast.FuncDecl{}

	for _, c := range cases {
		name, folder, function, step := c[1], c[2], c[3], c[4]

		if functions[folder] == nil {
			functions[folder] = functionsOf(parsed(t, filepath.Join(root, folder)))
		}

		test := functions[folder][function]
		_, isStep := steps[step]

		switch {
		case seen[name]:
			t.Errorf("there are two cases %q", name)
		case test == nil:
			t.Errorf("%s: %s has no %s", name, folder, function)
		case folder == "test/e2e" && !isStep:
			t.Errorf("%s: %s has no step %q", name, function, step)
		case folder != "test/e2e" && !isolated(test):
			t.Errorf("%s: %s has no network of its own (nstest.Isolate)", name, function)
		}

		seen[name] = true
	}
}

// isolated reports whether a test runs on the real kernel, in namespaces of its own.
func isolated(test *ast.FuncDecl) (found bool) {
	ast.Inspect(test, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			pkg, ok := selector.X.(*ast.Ident)
			found = found || ok && pkg.Name == "nstest" && selector.Sel.Name == "Isolate"
		}

		return true
	})

	return found
}
