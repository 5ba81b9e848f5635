// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"strings"
)

// Problem is one mistake and its place.
type Problem struct {
	Document string // kind of the document, "" if unknown
	Path     string // machine.network.interfaces[0].mtu
	Line     int    // from 1; 0 if unknown
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

// Problems are all mistakes of one text.
type Problems []Problem

// shown is the maximum number of problems in a message.
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

// Err returns the problems as an error, or nil if there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}

	return ps
}
