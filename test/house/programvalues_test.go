// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"slices"
)

// maxDepth limits the search, since a value can depend on itself.
const maxDepth = 12

func (s scope) deeper() (scope, bool) {
	s.depth++

	return s, s.depth < maxDepth
}

// text records the possible strings of an expression, and reports whether it found all of them.
func (s scope) text(e ast.Expr) bool {
	s, ok := s.deeper()
	if !ok {
		return false
	}

	if text, ok := literal(e); ok {
		if text != "" { // a zero value returned with an error
			s.found(e, text)
		}

		return true
	}

	switch e := e.(type) {
	case *ast.ParenExpr:
		return s.text(e.X)
	case *ast.Ident:
		return s.variable(e, scope.text, false)
	case *ast.SelectorExpr:
		return s.field(e, scope.text)
	case *ast.IndexExpr:
		if s.name(e.X) == "os.Args" { // the running program
			return true
		}

		if zero, ok := e.Index.(*ast.BasicLit); ok && zero.Value == "0" {
			return s.first(e.X)
		}
	case *ast.CallExpr:
		return s.result(e, scope.text)
	}

	return false
}

// first is text for the first element of a list.
func (s scope) first(e ast.Expr) bool {
	s, ok := s.deeper()
	if !ok {
		return false
	}

	switch e := e.(type) {
	case *ast.CompositeLit:
		return len(e.Elts) == 0 || s.text(e.Elts[0])
	case *ast.Ident:
		return s.variable(e, scope.first, true)
	case *ast.SelectorExpr:
		return s.field(e, scope.first)
	case *ast.CallExpr:
		switch name := s.name(e.Fun); {
		case name == "slices.Clone", name == "slices.Concat", name == s.pkg.importPath+".append":
			return s.first(e.Args[0])
		}

		return s.result(e, scope.first)
	}

	return false
}

type follow func(scope, ast.Expr) bool

// variable follows an identifier: a parameter, a variable with its assignments in the function, a loop variable, or a constant
// or variable of the package.
func (s scope) variable(id *ast.Ident, next follow, list bool) bool {
	given := s.parameter(id, list)
	assigned, all := false, true

	if s.function != nil {
		ast.Inspect(s.function, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if !isName(to, id) {
						continue
					}

					assigned = true
					value := n.Rhs[min(i, len(n.Rhs)-1)]

					// The program is the first of several results.
					if len(n.Rhs) < len(n.Lhs) && i > 0 || !next(s, value) {
						all = false
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if name.Name == id.Name && i < len(n.Values) {
						assigned = true
						all = next(s, n.Values[i]) && all
					}
				}
			case *ast.RangeStmt:
				if isName(n.Value, id) || isName(n.Key, id) {
					assigned = true
					elements, ok := s.elements(n.X, isName(n.Key, id))
					all = all && ok

					for _, e := range elements {
						all = next(s, e) && all
					}
				}
			}

			return true
		})
	}

	if assigned || given {
		return all
	}

	if value := s.pkg.values[id.Name]; value != nil {
		return next(s, value)
	}

	return false
}

// parameter reports whether an identifier is a parameter of the function. If so, the function is recorded as one that runs
// programs, and its callers are followed.
func (s scope) parameter(id *ast.Ident, list bool) bool {
	if s.function == nil {
		return false
	}

	index := 0

	for _, field := range s.function.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == id.Name {
				_, variadic := field.Type.(*ast.Ellipsis)
				s.code.runs[s.pkg.importPath+"."+s.function.Name.Name] = argument{index: index, list: list, variadic: variadic}

				return true
			}

			index++
		}
	}

	return false
}

// result follows the results of a function of the project. A function that runs or finds programs is followed elsewhere.
func (s scope) result(call *ast.CallExpr, next follow) bool {
	name := s.callee(call.Fun)
	if _, ok := s.code.runs[name]; ok {
		return true
	}

	for _, pkg := range s.code.packages {
		for _, file := range pkg.files {
			for _, d := range file.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Body == nil || pkg.importPath+"."+f.Name.Name != name {
					continue
				}

				in := scope{code: s.code, pkg: pkg, file: file, function: f, depth: s.depth}

				return in.returns(f, next)
			}
		}
	}

	return false
}

func (s scope) returns(f *ast.FuncDecl, next follow) bool {
	any, all := false, true

	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				any = true
				all = next(s, n.Results[0]) && all
			}
		}

		return true
	})

	return any && all
}

// field follows a field of a loop variable over a table, as in tests.
func (s scope) field(e *ast.SelectorExpr, next follow) bool {
	row, ok := e.X.(*ast.Ident)
	if !ok || s.function == nil {
		return false
	}

	seen, all := false, true

	ast.Inspect(s.function, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok || !isName(loop.Value, row) {
			return true
		}

		rows, ok := s.elements(loop.X, false)
		all = all && ok

		for _, r := range rows {
			value := s.column(loop.X, r, e.Sel.Name)
			if value != nil {
				seen = true
				all = next(s, value) && all
			}
		}

		return true
	})

	return seen && all
}

// table returns the composite literal of an expression.
func (s scope) table(e ast.Expr) *ast.CompositeLit {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e
	case *ast.Ident:
		if table, ok := s.pkg.values[e.Name].(*ast.CompositeLit); ok {
			return table
		}

		var table *ast.CompositeLit

		if s.function != nil {
			ast.Inspect(s.function, func(n ast.Node) bool {
				if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && len(a.Rhs) == 1 && isName(a.Lhs[0], e) {
					table, _ = a.Rhs[0].(*ast.CompositeLit)
				}

				return table == nil
			})
		}

		return table
	}

	return nil
}

// elements returns the elements of a list, or the elements or keys of a map.
func (s scope) elements(e ast.Expr, keys bool) ([]ast.Expr, bool) {
	table := s.table(e)
	if table == nil {
		return nil, false
	}

	var all []ast.Expr

	for _, element := range table.Elts {
		pair, ok := element.(*ast.KeyValueExpr)

		switch {
		case !ok && keys:
			return nil, false // an index
		case !ok:
			all = append(all, element)
		case keys:
			all = append(all, pair.Key)
		default:
			all = append(all, pair.Value)
		}
	}

	return all, true
}

// column returns a field of a row, by name or by position; nil if the row omits it.
func (s scope) column(table, row ast.Expr, name string) ast.Expr {
	values, ok := row.(*ast.CompositeLit)
	if !ok {
		return nil
	}

	if value := fieldsOf(values)[name]; value != nil {
		return value
	}

	var rowType ast.Expr

	switch of := s.table(table).Type.(type) {
	case *ast.ArrayType:
		rowType = of.Elt
	case *ast.MapType:
		rowType = of.Value
	}

	if id, ok := rowType.(*ast.Ident); ok && s.pkg.structs[id.Name] != nil {
		rowType = s.pkg.structs[id.Name]
	}

	fields, ok := rowType.(*ast.StructType)
	if !ok {
		return nil
	}

	var names []string

	for _, f := range fields.Fields.List {
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
	}

	if i := slices.Index(names, name); i >= 0 && i < len(values.Elts) {
		if _, keyed := values.Elts[i].(*ast.KeyValueExpr); !keyed {
			return values.Elts[i]
		}
	}

	return nil
}

func isName(e ast.Expr, id *ast.Ident) bool {
	other, ok := e.(*ast.Ident)

	return ok && other.Name == id.Name && other.Name != "_"
}
