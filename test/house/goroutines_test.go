// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unguarded are packages of process 1 whose goroutines need no guard, with the reason.
var unguarded = map[string]string{
	"cosi":                       "process 1 cannot run without the state and the runtime, so there is nothing to restart; the runtime recovers panics of controllers",
	"apid":                       "a separate process, which is restarted",
	"trustd":                     "a separate process, which is restarted",
	"discovery/carrier":          "a separate process, which is restarted",
	"controllers/controllertest": "tests only",
	"machine/server/servertest":  "tests only",
	"sys/nstest":                 "tests only",
	"sys/netlink/netlinktest":    "tests only",
}

// TestGuardedGoroutines rejects goroutines in process 1 that package guard does not start: their panic would be a kernel panic.
func TestGuardedGoroutines(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./machine", "./cmd/init")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")

	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}

	read := 0

	for _, path := range strings.Fields(string(out)) {
		dir, ours := strings.CutPrefix(path, module)
		if !ours || exempt(dir) {
			continue
		}

		files, err := fs.Glob(os.DirFS(filepath.Join(root, dir)), "*.go")
		if err != nil {
			t.Fatal(err)
		}

		read++

		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}

			text, err := os.ReadFile(filepath.Join(root, dir, name))
			if err != nil {
				t.Fatal(err)
			}

			for _, found := range bareGoroutines(t, filepath.Join(dir, name), text) {
				t.Errorf("%s: a panic of this goroutine is a kernel panic: start it with package guard", found)
			}
		}
	}

	if read < 50 {
		t.Errorf("only %d packages were read", read)
	}
}

func exempt(dir string) bool {
	for prefix := range unguarded {
		if dir == prefix || strings.HasPrefix(dir, prefix+"/") {
			return true
		}
	}

	return false
}

// bareGoroutines returns the places of go statements, and of calls of methods Go, such as that of sync.WaitGroup, unless the file
// declares the receiver as a guard.Group.
func bareGoroutines(t *testing.T, name string, text []byte) []string {
	t.Helper()

	files := token.NewFileSet()

	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	groups := guardGroups(file)

	var found []string

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, files.Position(n.Pos()).String())
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && !slices.Contains(groups, nameOf(s.X)) {
				found = append(found, files.Position(n.Pos()).String())
			}
		}

		return true
	})

	return found
}

// guardGroups returns the names of variables and fields of type guard.Group, and "guard" for the package.
func guardGroups(file *ast.File) []string {
	names := []string{"guard"}

	add := func(kind ast.Expr, idents []*ast.Ident) {
		if s, ok := kind.(*ast.SelectorExpr); ok && nameOf(s.X) == "guard" && s.Sel.Name == "Group" {
			for _, i := range idents {
				names = append(names, i.Name)
			}
		}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			add(n.Type, n.Names)
		case *ast.Field:
			add(n.Type, n.Names)
		}

		return true
	})

	return names
}

// nameOf returns the last name of an expression: group for x.group.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}

func TestBareGoroutines(t *testing.T) {
	const text = `package p

import "sync"

type s struct { guarded guard.Group; bare sync.WaitGroup }

func f(x *s) {
	go f(x)
	var wg sync.WaitGroup
	wg.Go(func() {})
	x.bare.Go(func() {})
	x.guarded.Go(nil)
	var g guard.Group
	g.Go(nil)
	guard.Go(nil)
	func() { go func() {}() }()
}
`

	got := bareGoroutines(t, "f.go", []byte(text))
	if want := []string{"f.go:8:2", "f.go:10:2", "f.go:11:2", "f.go:16:11"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
