// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// e2eTest is a test of test/e2e: a test function, one of its steps, or an entry of a table.
type e2eTest struct {
	// calls are the RPCs that the entry lists; nil if it lists none.
	calls []string
	// text has all its strings, and those of the functions that it calls.
	text string
}

// e2eTests returns the tests of test/e2e, by name.
func e2eTests(t *testing.T) map[string]e2eTest {
	t.Helper()

	all := map[string]e2eTest{}
	add := func(name string, test e2eTest) {
		if _, twice := all[name]; twice && test.calls != nil {
			t.Errorf("test/e2e has two tests %q", name)
		}

		all[name] = test
	}

	files := parsed(t, filepath.Join(root, "test", "e2e"))
	functions := functionsOf(files)

	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Test") {
					add(n.Name.Name, e2eTest{text: stringsOf(n, functions)})
				}
			case *ast.CallExpr:
				if selector, ok := n.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Run" && len(n.Args) == 2 {
					if name, ok := literal(n.Args[0]); ok {
						add(name, e2eTest{text: stringsOf(n, functions)})
					}
				}
			case *ast.CompositeLit:
				fields := fieldsOf(n)
				if name, ok := literal(fields["name"]); ok {
					test := e2eTest{text: stringsOf(n, functions)}

					for _, call := range strings.Fields(stringsOf(fields["calls"], nil)) {
						if !strings.Contains(call, "/") {
							call = "machine.MachineService/" + call
						}

						test.calls = append(test.calls, call)
					}

					add(name, test)
				}
			}

			return true
		})
	}

	return all
}

// unimplemented returns the error messages of machine/server for calls that it does not implement.
func unimplemented(t *testing.T) []string {
	t.Helper()

	var all []string

	for _, file := range parsed(t, filepath.Join(root, "machine", "server")) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 2 {
				code, isCode := call.Args[0].(*ast.SelectorExpr)
				if sentence, ok := literal(call.Args[1]); ok && isCode && code.Sel.Name == "Unimplemented" {
					all = append(all, sentence)
				}
			}

			return true
		})
	}

	return all
}

func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()

	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: got the files %q, %v", dir, paths, err)
	}

	var all []*ast.File

	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		all = append(all, file)
	}

	return all
}

func literal(n ast.Expr) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}

	text, err := strconv.Unquote(lit.Value)

	return text, err == nil
}

func fieldsOf(n *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}

	for _, element := range n.Elts {
		if field, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := field.Key.(*ast.Ident); ok {
				fields[key.Name] = field.Value
			}
		}
	}

	return fields
}

// functionsOf returns all functions and methods, by name.
func functionsOf(files []*ast.File) map[string]*ast.FuncDecl {
	all := map[string]*ast.FuncDecl{}

	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all[f.Name.Name] = f
			}
		}
	}

	return all
}

// stringsOf returns all strings in a node and in the functions that it names, separated by spaces.
func stringsOf(n ast.Node, functions map[string]*ast.FuncDecl) string {
	var all []string

	seen := map[*ast.FuncDecl]bool{}

	var visit func(n ast.Node) bool

	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, ok := literal(n); ok {
				all = append(all, text)
			}
		case *ast.Ident:
			if f := functions[n.Name]; f != nil && !seen[f] {
				seen[f] = true
				ast.Inspect(f.Body, visit)
			}
		}

		return true
	}

	if n != nil {
		ast.Inspect(n, visit)
	}

	return strings.Join(all, " ")
}
