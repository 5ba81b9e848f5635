// SPDX-License-Identifier: Apache-2.0

// Package cmdline reads the kernel command line, by the kernel's own rules: arguments are separated by white
// space, double quotes protect it, a name may be given more than once, hyphens and underscores in names are
// the same, and what follows `--` is for init, not for the kernel.
package cmdline

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Argument is one word of the command line.
type Argument struct {
	Name string
	// Value is what follows the equals sign, without quotes.
	Value string
	// HasValue tells `name=` from `name`.
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

// Parse splits a command line. Like the kernel, it takes any text: an open quote ends with the line.
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

const space = " \t\n\v\f\r\x00"

// parseWord takes the quotes off, around the value or around the whole: name="a b" and "name=a b" are equal.
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

// Arguments returns all arguments in order; read-only.
func (c Cmdline) Arguments() []Argument { return c.args }

// All returns the values of every argument of the name, in order; one without a value gives "".
func (c Cmdline) All(name string) []string {
	var out []string

	for _, a := range c.args {
		if sameName(a.Name, name) {
			out = append(out, a.Value)
		}
	}

	return out
}

// Get returns the value of the last argument of the name: the last one wins.
func (c Cmdline) Get(name string) (string, bool) {
	all := c.All(name)
	if len(all) == 0 {
		return "", false
	}

	return all[len(all)-1], true
}

// Has tells whether the argument is there, with that very value.
func (c Cmdline) Has(name, value string) bool { return slices.Contains(c.All(name), value) }

// String prints the arguments so that Parse reads them back.
func (c Cmdline) String() string {
	words := make([]string, 0, len(c.args))

	for _, a := range c.args {
		word := a.Name
		if a.HasValue {
			word += "=" + a.Value
		}

		if strings.ContainsAny(word, space) {
			word = `"` + word + `"`
		}

		words = append(words, word)
	}

	return strings.Join(words, " ")
}

func sameName(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}

// Hardened are the arguments of the Kernel Self-Protection Project without which the system does not start.
// The empty slab_nomerge is written `slab_nomerge=` or `slab_nomerge`.
var Hardened = []Argument{
	{Name: "slab_nomerge"},
	{Name: "pti", Value: "on", HasValue: true},
}

// CheckHardened names every hardening argument that is missing or has another value.
func (c Cmdline) CheckHardened() error {
	var errs []error

	for _, want := range Hardened {
		got, ok := c.Get(want.Name)

		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("kernel argument %s=%s is missing: add it to the boot loader's entry", want.Name, want.Value))
		case got != want.Value:
			errs = append(errs, fmt.Errorf("kernel argument %s is %q, must be %q: correct the boot loader's entry", want.Name, got, want.Value))
		}
	}

	return errors.Join(errs...)
}
