// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"github.com/seed-59268b81/talos/cosi/meta"
)

const (
	maxRoots    = 3   // that are printed in full; the others take a line each
	maxEvidence = 6   // lines of each
	maxLine     = 300 // characters of a message of a program
)

// Print prints the result: the symptom, then each root cause with its evidence, what to try, and the chain from the root cause to the
// symptom.
func Print(w io.Writer, node string, f *Facts, s Symptom, step *Step) error {
	var b strings.Builder

	if step == nil {
		fmt.Fprintf(&b, "%s: nothing is wrong with %s\n", node, cut(s.String()))
	} else {
		fmt.Fprintf(&b, "%s: %s\n", node, cut(step.Says))
		printRoots(&b, step)
	}

	if beside := besides(f, step); len(beside) > 0 && !f.quiet(step) {
		fmt.Fprintf(&b, "\nother controllers that fail:\n")

		for _, line := range beside {
			fmt.Fprintf(&b, "  %s\n", cut(line))
		}
	}

	guess := step == nil || !certain(step)

	if len(f.Missing) > 0 || guess && len(f.Hidden) > 0 {
		fmt.Fprintf(&b, "\nnot read:\n")

		for _, m := range f.Missing {
			fmt.Fprintf(&b, "  %s\n", cut(m))
		}

		if guess && len(f.Hidden) > 0 {
			fmt.Fprintf(&b, "  resources of %s, which the role of the caller may not read\n", english.Plural(len(f.Hidden), "type", ""))
		}
	}

	_, err := io.WriteString(w, b.String())

	return err
}

func printRoots(b *strings.Builder, step *Step) {
	chains := step.Roots()

	for i, chain := range chains {
		if i == maxRoots {
			fmt.Fprintf(b, "\nand %s more:\n", english.Plural(len(chains)-i, "cause", ""))

			for _, chain := range chains[i:] {
				fmt.Fprintf(b, "  %s\n", cut(chain[len(chain)-1].Says))
			}

			break
		}

		root := chain[len(chain)-1]

		title := "root cause"
		if root.Vague {
			title = "as far as can be seen"
		}

		fmt.Fprintf(b, "\n%s: %s\n", title, cut(root.Says))

		for n, e := range root.Evidence {
			if n == maxEvidence {
				fmt.Fprintf(b, "            and %d more\n", len(root.Evidence)-n)

				break
			}

			fmt.Fprintf(b, "  %-9s %s\n", label("evidence", n), cut(e))
		}

		if root.Try != "" {
			fmt.Fprintf(b, "  %-9s %s\n", "try", cut(root.Try))
		}

		printChain(b, step, chain)
	}
}

// printChain prints the steps between the root and the symptom.
func printChain(b *strings.Builder, step *Step, chain []*Step) {
	if len(chain) < 3 {
		return // there is nothing between the root and the symptom
	}

	n := 0

	for _, s := range slices.Backward(chain[1 : len(chain)-1]) {
		fmt.Fprintf(b, "  %-9s %s\n", label("so", n), cut(s.Says))
		n++
	}

	for _, other := range step.through(chain[len(chain)-1]) {
		if other != chain[1] {
			fmt.Fprintf(b, "  %-9s %s\n", "also", cut(other.Says))
		}
	}
}

func label(word string, n int) string {
	if n == 0 {
		return word
	}

	return ""
}

// besides returns the failing controllers that are not part of the chains.
func besides(f *Facts, step *Step) []string {
	var out []string

	for _, s := range failingControllers(f) {
		status, _ := find[meta.ControllerStatusSpec](f, s.ID)
		if step == nil || !step.contains(s, status.Error) {
			out = append(out, s.ID+": "+status.Error)
		}
	}

	return out
}

// quiet reports whether failing controllers are left out: they are of no interest on a machine in maintenance, or that goes down.
func (f *Facts) quiet(step *Step) bool { return step != nil && step.Root() && step.Kind == Machine }

// contains reports whether the chains have the symptom, or evidence with the text.
func (s *Step) contains(symptom Symptom, says string) bool {
	return s.Symptom == symptom || slices.ContainsFunc(s.Evidence, func(e string) bool { return strings.Contains(e, says) }) ||
		slices.ContainsFunc(s.Causes, func(c *Step) bool { return c.contains(symptom, says) })
}

// cut returns a message of a program as one line of limited length, without control characters.
func cut(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}

		return r
	}, strings.Join(strings.Fields(text), " "))

	if utf8.RuneCountInString(text) > maxLine {
		text = string([]rune(text)[:maxLine]) + "…"
	}

	return text
}

// String names the symptom's subject.
func (s Symptom) String() string {
	switch s.Kind { // the user cannot ask for other kinds
	case Machine:
		return "the machine"
	case InstanceOf:
		return name(s.Type, s.Namespace, s.ID)
	default:
		return string(s.Kind) + " " + s.ID
	}
}
