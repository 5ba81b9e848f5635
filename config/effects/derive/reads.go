// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
)

// reads are the fields TYPE.FIELD that a part of the code selects, and the full names of the followed functions that it calls.
type reads struct{ fields, calls map[string]bool }

func newReads() *reads { return &reads{fields: map[string]bool{}, calls: map[string]bool{}} }

// with returns the fields, and those of the functions that are called, directly or indirectly.
func (r *reads) with(functions map[string]*reads) map[string]bool {
	fields, seen := maps.Clone(r.fields), map[string]bool{}

	var follow func(calls map[string]bool)

	follow = func(calls map[string]bool) {
		for name := range calls {
			f := functions[name]
			if f == nil || seen[name] {
				continue
			}

			seen[name] = true

			maps.Copy(fields, f.fields)
			follow(f.calls)
		}
	}

	follow(r.calls)

	return fields
}

// byFunction records what each function of a file reads, by the function's full name.
func byFunction(file *ast.File, info *types.Info, functions map[string]*reads) {
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok {
			r := newReads()
			r.add(f, info)
			functions[info.Defs[f.Name].(*types.Func).FullName()] = r
		}
	}
}

// add records what a part of a file reads.
func (r *reads) add(part ast.Node, info *types.Info) {
	set := map[ast.Expr]bool{} // fields that are assigned, which does not count as reading

	ast.Inspect(part, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				set[left] = n.Tok == token.ASSIGN
			}
		case *ast.Ident: // a function value counts as called
			if f, ok := info.Uses[n].(*types.Func); ok && f.Pkg() != nil && isFollowed(f.Pkg().Path()) {
				r.calls[f.Origin().FullName()] = true
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && !set[n] {
				r.note(s)
			}
		case *ast.CallExpr: // a conversion reads all fields
			if len(n.Args) == 1 && info.Types[n.Fun].IsType() {
				r.noteAll(info.Types[n.Args[0]].Type)
			}
		}

		return true
	})
}

// documentType returns t, or what it points to, as a named type of the documents' package, or nil.
func documentType(t types.Type) *types.Named {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}

	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !isDocuments(named.Obj().Pkg().Path()) {
		return nil
	}

	return named
}

// note records a selected field and the embedded fields on the path to it.
func (r *reads) note(s *types.Selection) {
	t := s.Recv()

	for _, i := range s.Index() {
		if pointer, ok := t.Underlying().(*types.Pointer); ok {
			t = pointer.Elem()
		}

		fields, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}

		if named := documentType(t); named != nil {
			r.fields[fieldName(named.Obj().Pkg().Path(), named.Obj().Name(), fields.Field(i).Name())] = true
		}

		t = fields.Field(i).Type()
	}
}

func (r *reads) noteAll(t types.Type) {
	named := documentType(t)
	if named == nil {
		return
	}

	if s, ok := named.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			r.fields[fieldName(named.Obj().Pkg().Path(), named.Obj().Name(), s.Field(i).Name())] = true
		}
	}
}
