// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"regexp"
)

// maxValues of a configuration. With each of them a process grows by some 1.4 KiB while it reads the configuration, and what
// reads it is process 1. Real configurations have some hundred values.
const maxValues = 20_000

// breaks end a line for the library as "\n" does: carriage return, next line, line separator, paragraph separator.
const breaks = "\r\u0085\u2028\u2029"

// blockScalar is a line after which a text follows that is indented by more than its key: "  - contents: |".
var blockScalar = regexp.MustCompile(`^( *(?:- +)*)[A-Za-z0-9_./-]+: +[|>][+-]?[ \t]*$`)

// atMostValues returns a number that the values of a YAML text do not exceed, keys included. It is for texts that must not
// be given to the library, which keeps all that it has read: a mebibyte of "a,a," becomes more than half a gibibyte there.
//
// A value begins at the start of a line, after one of the marks that have one follow, or after a key's colon. What looks
// like that within quotes is counted too. What is within block scalars is not, as long as no bracket or quote before is left
// open, so that the line that begins one is what it seems.
func atMostValues(text []byte) int {
	var (
		count = 1
		clear = true
		// within is how far lines are indented that are part of a block scalar, 0 if there is none.
		within = 0
	)

	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		rest := bytes.TrimLeft(line, " ")

		if within > 0 && (len(rest) == 0 || len(line)-len(rest) >= within) && !bytes.ContainsAny(line, breaks) {
			continue
		}

		within = 0

		if clear && bytes.HasPrefix(rest, []byte("#")) {
			continue
		}

		count += 1 + marks(line)
		clear = clear && closed(line)

		if m := blockScalar.FindSubmatch(line); clear && m != nil {
			within = len(m[1]) + 1
		}
	}

	return count
}

// marks of a line that a value may follow.
func marks(line []byte) int {
	count := 0

	for i, c := range line {
		switch c {
		case ',', '[', '{', '\r', 0xc2, 0xe2: // a key without a value has one; the last two begin the other breaks
			count += 2
		case '-', '?': // both may lack what they are for
			if i+1 == len(line) || line[i+1] <= ' ' || line[i+1] >= 0x80 {
				count += 2
			}
		case ':': // both its key and its value may be missing; within a word it is a part of that
			if i+1 == len(line) || !isWord(line[i+1]) || i > 0 && (line[i-1] == '"' || line[i-1] == '\'') {
				count += 2
			}
		}
	}

	return count
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '/'
}

// closed reports whether a line leaves no bracket and no quote open.
func closed(line []byte) bool {
	count := func(mark string) int { return bytes.Count(line, []byte(mark)) }

	return count(`"`)%2 == 0 && count("'")%2 == 0 && count("[") == count("]") && count("{") == count("}")
}
