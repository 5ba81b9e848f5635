// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// This file finds the programs that Go code runs. It follows the arguments of exec.Command and similar functions to
// literals, through constants, variables, tables of tests, and parameters of functions, whose callers it follows in turn.
// If it cannot follow an argument, a comment on the line or before it names the program:
//
//	//program:self why    the running program: a test starts itself again
//	//program:built why   a result of the build
//	//program:user why    the user names it, as in $EDITOR
//	//program:image why   runs inside the machine, see its table
//	//program:optional why  used if it is installed
//	//program:arg why     a parameter that is followed elsewhere
//	//program:ip,tc why   the names
var directive = regexp.MustCompile(`^//program:(\S+) \S`)

// notNames are the words of a directive that are not names of programs.
var notNames = map[string]bool{"self": true, "built": true, "user": true, "image": true, "optional": true, "arg": true}

// argument is the position of a function's program: an argument or its first element.
type argument struct {
	index          int
	list, variadic bool
}

// goCode is all Go code of the project, and the programs in it.
type goCode struct {
	packages map[string]*goSource // by import path, only those of the project
	// runs are the functions that run or find a program, by "import path.name".
	runs    map[string]argument
	found   []place
	unknown []string
}

// goSource is the code of one folder.
type goSource struct {
	importPath string
	files      []*goFile
	functions  map[string]*ast.FuncDecl
	values     map[string]ast.Expr // values of constants and variables
	structs    map[string]*ast.StructType
}

// goFile is one file.
type goFile struct {
	path    string
	set     *token.FileSet
	ast     *ast.File
	imports map[string]string // import paths by name in this file
	said    map[int]string    // directives by line
}

func goPrograms(t *testing.T) *goCode {
	t.Helper()

	code := &goCode{packages: map[string]*goSource{}}

	each(t, ".go", func(p string, text []byte) {
		if err := code.add(p, text); err != nil {
			t.Error(err)
		}
	})

	code.search()

	return code
}

func (c *goCode) add(p string, text []byte) error {
	set := token.NewFileSet()

	file, err := parser.ParseFile(set, p, text, parser.ParseComments)
	if err != nil {
		return err
	}

	at := module + filepath.ToSlash(filepath.Dir(p))

	pkg := c.packages[at]
	if pkg == nil {
		pkg = &goSource{importPath: at, functions: map[string]*ast.FuncDecl{}, values: map[string]ast.Expr{}, structs: map[string]*ast.StructType{}}
		c.packages[at] = pkg
	}

	f := &goFile{path: p, set: set, ast: file, imports: map[string]string{}, said: map[int]string{}}
	pkg.files = append(pkg.files, f)

	for _, i := range file.Imports {
		of := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil {
			f.imports[i.Name.Name] = of
		} else {
			f.imports[path.Base(of)] = of
		}
	}

	for _, group := range file.Comments {
		for _, comment := range group.List {
			if m := directive.FindStringSubmatch(comment.Text); m != nil {
				f.said[set.Position(comment.Pos()).Line] = m[1]
			}
		}
	}

	for _, d := range file.Decls {
		pkg.declare(d)
	}

	return nil
}

func (p *goSource) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		p.functions[d.Name.Name] = d
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if i < len(s.Values) {
						p.values[name.Name] = s.Values[i]
					}
				}
			case *ast.TypeSpec:
				if of, ok := s.Type.(*ast.StructType); ok {
					p.structs[s.Name.Name] = of
				}
			}
		}
	}
}

// search searches all code until it finds no more functions with a program as a parameter.
func (c *goCode) search() {
	c.runs = map[string]argument{
		"os/exec.Command": {index: 0}, "os/exec.CommandContext": {index: 1}, "os/exec.LookPath": {index: 0}, "os.StartProcess": {index: 0},
		"syscall.ForkExec": {index: 0}, "syscall.Exec": {index: 0}, "golang.org/x/sys/unix.Exec": {index: 0},
	}

	for known := 0; known != len(c.runs); {
		known = len(c.runs)
		c.found, c.unknown = nil, nil

		for _, pkg := range c.packages {
			for _, file := range pkg.files {
				for _, d := range file.ast.Decls {
					in, _ := d.(*ast.FuncDecl)
					s := scope{code: c, pkg: pkg, file: file, function: in}

					ast.Inspect(d, s.visit)
				}
			}
		}
	}
}

// scope is the place of an expression.
type scope struct {
	code     *goCode
	pkg      *goSource
	file     *goFile
	function *ast.FuncDecl // nil outside of functions
	depth    int
}

// visit finds the calls that run a program.
func (s scope) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if arg, ok := s.code.runs[s.callee(n.Fun)]; ok && arg.index < len(n.Args) {
			s.runs(n, func() bool { return s.argument(n, arg) })
		}
	case *ast.CompositeLit:
		fields := fieldsOf(n)

		switch s.name(n.Type) {
		case "os/exec.Cmd":
			if fields["Path"] != nil {
				s.runs(n, func() bool { return s.text(fields["Path"]) })
			}
		case module + "service/supervisor.Process":
			switch {
			case fields["Path"] != nil:
				s.runs(n, func() bool { return s.text(fields["Path"]) })
			case fields["Argv"] != nil:
				s.runs(n, func() bool { return s.first(fields["Argv"]) })
			}
		}
	}

	return true
}

// argument follows the argument of a call.
func (s scope) argument(call *ast.CallExpr, arg argument) bool {
	value := call.Args[arg.index]
	if arg.list && (!arg.variadic || call.Ellipsis.IsValid()) {
		return s.first(value)
	}

	return s.text(value)
}

// runs records the programs of a directive, or those that it finds in the source.
func (s scope) runs(n ast.Node, follow func() bool) {
	line := s.file.set.Position(n.Pos()).Line

	for _, l := range []int{line, line - 1} {
		words, ok := s.file.said[l]
		if !ok {
			continue
		}

		for word := range strings.SplitSeq(words, ",") {
			if !notNames[word] {
				s.found(n, word)
			}
		}

		return
	}

	if !follow() {
		s.code.unknown = append(s.code.unknown, s.at(n))
	}
}

func (s scope) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.file.path, s.file.set.Position(n.Pos()).Line)
}

func (s scope) found(n ast.Node, name string) {
	s.code.found = append(s.code.found, place{name: name, where: s.at(n)})
}

// callee returns the function of a call as "import path.name". Methods count as functions of the package.
func (s scope) callee(fun ast.Expr) string {
	if name := s.name(fun); name != "" {
		return name
	}

	if method, ok := fun.(*ast.SelectorExpr); ok {
		return s.pkg.importPath + "." + method.Sel.Name
	}

	return ""
}

// name returns the full name of an identifier of this package or an imported one.
func (s scope) name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return s.pkg.importPath + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && s.file.imports[x.Name] != "" {
			return s.file.imports[x.Name] + "." + e.Sel.Name
		}
	}

	return ""
}
