// SPDX-License-Identifier: Apache-2.0

// Package cmdline parses the kernel command line by the kernel's rules: white space separates arguments unless it is in double quotes,
// a name may occur more than once, hyphens and underscores in names are equal, and arguments after `--` are for init, not for the
// kernel.
package cmdline

import (
	"fmt"
	"os"
	"strings"
)

// Argument is one word of the command line.
type Argument struct {
	Name string
	// Value is what follows the equals sign, without quotes.
	Value string
	// HasValue distinguishes `name=` from `name`.
	HasValue bool
}

// Cmdline is a parsed kernel command line.
type Cmdline struct{ args []Argument }

// Read reads the running kernel's command line from a procfs.
func Read(proc string) (Cmdline, error) {
	text, err := os.ReadFile(proc + "/cmdline")
	if err != nil {
		return Cmdline{}, fmt.Errorf("kernel command line: %w", err)
	}

	return Parse(string(text)), nil
}

// Parse splits a command line. Like the kernel, it accepts any text: an open quote ends at the end of the line.
func Parse(line string) Cmdline {
	var c Cmdline

	for line = strings.TrimLeft(line, space); line != ""; line = strings.TrimLeft(line, space) {
		n, quoted := 0, false
		for n < len(line) && (quoted || !strings.ContainsRune(space, rune(line[n]))) {
			if line[n] == '"' {
				quoted = !quoted
			}

			n++
		}

		word := line[:n]
		line = line[n:]

		if word == "--" {
			break
		}

		c.args = append(c.args, parseWord(word))
	}

	return c
}

const space = " \t\n\v\f\r"

// parseWord removes quotes around the value or around the whole argument: name="a b" and "name=a b" are equal.
func parseWord(word string) Argument {
	if unquoted, ok := strings.CutPrefix(word, `"`); ok {
		word = strings.TrimSuffix(unquoted, `"`)
	}

	name, value, ok := strings.Cut(word, "=")
	if unquoted, quoted := strings.CutPrefix(value, `"`); quoted {
		value = strings.TrimSuffix(unquoted, `"`)
	}

	return Argument{Name: name, Value: value, HasValue: ok}
}

// All returns the values of all arguments of the name, in order; the value of an argument without one is "".
func (c Cmdline) All(name string) []string {
	var out []string

	for _, a := range c.args {
		if sameName(a.Name, name) {
			out = append(out, a.Value)
		}
	}

	return out
}

// Get returns the value of the last argument of the name.
func (c Cmdline) Get(name string) (string, bool) {
	all := c.All(name)
	if len(all) == 0 {
		return "", false
	}

	return all[len(all)-1], true
}

func sameName(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}
