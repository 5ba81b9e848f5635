// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// isTerminal tells whether a stream of the command is one that a person looks at, or types into.
func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)

	return isFile && term.IsTerminal(int(file.Fd()))
}

// clearTerminal makes room for a table that is shown again. A file gets the tables one after the other.
func clearTerminal(w io.Writer) {
	if isTerminal(w) {
		io.WriteString(w, "\x1b[H\x1b[2J") // the table that follows fails too
	}
}

// firstWord cuts a line at its first space, which stays with the rest.
func firstWord(line string) (first, rest string) {
	if i := strings.IndexByte(line, ' '); i >= 0 {
		return line[:i], line[i:]
	}

	return line, ""
}
