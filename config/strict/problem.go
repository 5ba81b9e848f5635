// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong, and where.
type Problem struct {
	Document string // kind of the document, "" if it is not known
	Path     string // machine.network.interfaces[0].mtu
	Line     int    // from 1; 0 if not known
	Column   int    // from 1
	Text     string // what is wrong and what to do
}

func (p Problem) Error() string {
	var where []string

	if p.Document != "" {
		where = append(where, p.Document+" document")
	}

	if p.Line > 0 {
		where = append(where, fmt.Sprintf("line %d:%d", p.Line, p.Column))
	}

	if p.Path != "" {
		where = append(where, p.Path)
	}

	if len(where) == 0 {
		return p.Text
	}

	return strings.Join(where, ", ") + ": " + p.Text
}

// Problems is everything that is wrong with one text. It is an error when it is not empty.
type Problems []Problem

// shown is how many problems a message lists; a person mends those and asks again.
const shown = 20

func (ps Problems) Error() string {
	switch len(ps) {
	case 0:
		return "no problems"
	case 1:
		return ps[0].Error()
	}

	var b strings.Builder

	fmt.Fprintf(&b, "%d problems:", len(ps))

	for i, p := range ps {
		if i == shown {
			fmt.Fprintf(&b, "\n  … and %d more", len(ps)-shown)

			break
		}

		b.WriteString("\n  * " + p.Error())
	}

	return b.String()
}

// Err is nil when there are no problems.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}

	return ps
}
