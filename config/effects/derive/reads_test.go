// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source has a document, a view of it, and a reader of the view.
const source = `package v1alpha1

type Config struct {
	Hostname, Older, Token, Unused string
	Kubelet                        Kubelet
}

type Kubelet struct{ Image, Args, Mounts string }

type Alias = Kubelet

type View struct{ main *Config }

func (v *View) Name() string { return or(v.main.Hostname, v.older) }

func (v *View) older() string { return v.main.Older }

func (v *View) Token() string { return v.main.Token }

func (v *View) Kubelet() Alias {
	k := v.main.Kubelet
	k.Args = "set, not read"

	return k
}

func (v *View) Unread() string { return v.main.Unused }

func or(a string, b func() string) string {
	if a != "" {
		return a
	}

	return b()
}

func reader(v *View) string { return v.Name() + v.Kubelet().Image }
`

// TestAccessorsAreFollowed checks that a key counts as read if and only if a reader uses its accessor.
func TestAccessorsAreFollowed(t *testing.T) {
	files := token.NewFileSet()

	file, err := parser.ParseFile(files, "source.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	info := &types.Info{
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}

	if _, err := (&types.Config{Importer: importer.Default()}).Check(mainDocument, files, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}

	functions := map[string]*reads{}

	byFunction(file, info, functions)

	want := []string{"Config.Hostname", "Config.Kubelet", "Config.Older", "Kubelet.Image"}
	for i := range want {
		want[i] = mainDocument + "." + want[i]
	}

	got := slices.DeleteFunc(slices.Sorted(maps.Keys(functions[mainDocument+".reader"].with(functions))), func(field string) bool { return field == mainDocument+".View.main" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields read (-want +got):\n%s", diff)
	}
}
