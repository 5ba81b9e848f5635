// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// shellPrograms returns the programs that scripts and the recipes of the Makefile run.
func shellPrograms(t *testing.T) []place {
	t.Helper()

	var all []place

	each(t, "", func(p string, text []byte) {
		var (
			found []place
			err   error
		)

		switch {
		case p == "Makefile" || strings.HasSuffix(p, ".mk"):
			found, err = makePrograms(p, text)
		case strings.HasSuffix(p, ".sh") || bytes.HasPrefix(text, []byte("#!")):
			found, err = scriptPrograms(p, string(text))
		}

		if err != nil {
			t.Errorf("%s: %v", p, err)
		}

		all = append(all, found...)
	})

	return all
}

// makePrograms returns the programs of the recipes, with the Makefile's variables replaced.
func makePrograms(p string, text []byte) ([]place, error) {
	variables := map[string]string{}

	var recipes []string

	assignment := regexp.MustCompile(`^([A-Za-z_-]+)\s*[?:]?=\s*(.*)$`)

	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")

		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			recipes = append(recipes, strings.TrimLeft(recipe, "@-+"))
		} else if m := assignment.FindStringSubmatch(line); m != nil {
			variables[m[1]] = m[2]
		}
	}

	// $$ is a $ for the shell.
	const shells = "\x00"

	script := strings.ReplaceAll(strings.Join(recipes, "\n"), "$$", shells)

	// From the inside out, since names and values of variables contain variables. Results of make's functions are unknown.
	innermost := regexp.MustCompile(`\$\([^()$]*\)`)
	for range 20 {
		script = innermost.ReplaceAllStringFunc(script, func(reference string) string {
			return strings.ReplaceAll(variables[strings.Trim(reference, "$()")], "$$", shells)
		})
	}

	return scriptPrograms(p, strings.ReplaceAll(script, shells, "$"))
}

// scriptPrograms returns the first words of a script's commands. Relative paths are programs of the tree.
func scriptPrograms(p, text string) ([]place, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), p)
	if err != nil {
		return nil, err
	}

	functions := map[string]bool{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok {
			functions[f.Name.Value] = true
		}

		return true
	})

	var all []place

	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}

		where := fmt.Sprintf("%s:%d", p, call.Pos().Line())
		args := call.Args

		// These run their argument.
		for len(args) > 1 && slices.Contains([]string{"exec", "command", "nice", "time", "sudo"}, args[0].Lit()) {
			if !slices.Contains(shellWords, args[0].Lit()) {
				all = append(all, place{args[0].Lit(), where})
			}

			args = args[1:]
		}

		switch name := args[0].Lit(); {
		case name == "":
			all = append(all, place{"a program named by a variable", where})
		case functions[name], slices.Contains(shellWords, name):
		case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		default:
			all = append(all, place{name, where})
		}

		return true
	})

	return all, nil
}
