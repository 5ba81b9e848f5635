// SPDX-License-Identifier: Apache-2.0

package program

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-59268b81/talos/build/graph"
)

// joinedSource is the file that makes one program of others. It is an input of their step.
const joinedSource = "program/joined.go"

// The parts of a program's source that change when it becomes a package of another program.
var (
	mainPackage  = regexp.MustCompile(`(?m)^package main$`)
	mainFunction = regexp.MustCompile(`(?m)^func main\(\)`)
)

// joinedMain is the source of the program that is all of them: its imports, and the functions by the names of programs.
const joinedMain = `package main

import (
	"fmt"
	"os"
	"path/filepath"

%s)

var programs = map[string]func(){
%s}

func main() {
	name := filepath.Base(os.Args[0])

	run, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%%s is none of the programs of this file\n", name)
		os.Exit(2)
	}

	run()
}
`

// join builds the programs of a module as one, which finds by its name what to do. Each program is a hard link to it.
func (m module) join(ctx context.Context, dir string, w *graph.Work, args goBuildArgs) error {
	source, err := os.MkdirTemp(filepath.Dir(w.Dir), "joined-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(source)

	if err := m.joinSource(ctx, dir, source); err != nil {
		return err
	}

	first := filepath.Join(w.Dir, m.programs[0].name)
	args.dir, args.out, args.packages = source, first, []string{"."}

	if err := goBuild(ctx, w, args); err != nil {
		return err
	}

	for _, p := range m.programs[1:] {
		if err := os.Link(first, filepath.Join(w.Dir, p.name)); err != nil {
			return err
		}
	}

	return nil
}

// joinSource writes a module with the versions of this one, in which each program is a package.
func (m module) joinSource(ctx context.Context, dir, to string) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}

		if err != nil {
			return err
		}
	}

	path, err := output(ctx, dir, "go", "list", "-m")
	if err != nil {
		return err
	}

	var imports, programs strings.Builder

	for _, p := range m.programs {
		name := strings.ReplaceAll(p.name, "-", "")
		fmt.Fprintf(&imports, "\t%q\n", path+"/"+name)
		fmt.Fprintf(&programs, "\t%q: %s.Main,\n", p.name, name)

		if err := asPackage(ctx, dir, p.pkg, name, filepath.Join(to, name)); err != nil {
			return fmt.Errorf("make a package of %s: %w", p.pkg, err)
		}
	}

	return os.WriteFile(filepath.Join(to, "main.go"), fmt.Appendf(nil, joinedMain, &imports, &programs), 0o644)
}

// asPackage copies the source of a program, as that of a package with a function Main.
func asPackage(ctx context.Context, dir, program, name, to string) error {
	listed, err := output(ctx, dir, "go", "list", "-f", `{{.Dir}}{{range .GoFiles}}{{"\n"}}{{.}}{{end}}`, program)
	if err != nil {
		return err
	}

	files := strings.Split(listed, "\n")
	from, files := files[0], files[1:]

	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}

	functions := 0

	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return err
		}

		functions += len(mainFunction.FindAll(text, -1))
		text = mainPackage.ReplaceAll(text, []byte("package "+name))
		text = mainFunction.ReplaceAll(text, []byte("func Main()"))

		if err := os.WriteFile(filepath.Join(to, file), text, 0o644); err != nil {
			return err
		}
	}

	if functions != 1 {
		return fmt.Errorf("%d functions main, want one", functions)
	}

	return nil
}
