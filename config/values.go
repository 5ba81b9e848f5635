// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"regexp"
)

// maxValues is the maximum number of values in a configuration. Each takes about 1.4 KiB of process 1 while it parses the
// configuration. Real configurations have some hundred values.
const maxValues = 20_000

// breaks are the other line breaks of the YAML library: carriage return, next line, line separator, paragraph separator.
const breaks = "\r\u0085\u2028\u2029"

// blockScalar matches the first line of a block scalar, such as "  - contents: |". Its text is indented by more than its key.
var blockScalar = regexp.MustCompile(`^( *(?:- +)*)[A-Za-z0-9_./-]+: +[|>][+-]?[ \t]*$`)

// atMostValues returns an upper bound of the number of keys and values in a YAML text. The YAML library keeps everything that it
// parses: a mebibyte of "a,a," becomes more than half a gibibyte there. So the bound must be known before the library gets the text.
//
// A value begins at the start of a line, after certain marks, and after a key's colon. Marks within quotes count too. Marks within
// block scalars do not count, unless a bracket or quote before is open: then a line only looks like the start of a block scalar.
func atMostValues(text []byte) int {
	var (
		count = 1
		clear = true
		// within is the minimum indentation of the current block scalar, 0 outside of one.
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

// marks returns twice the number of marks in a line that a value may follow.
func marks(line []byte) int {
	count := 0

	for i, c := range line {
		switch c {
		case ',', '[', '{', '\r', 0xc2, 0xe2: // a key without a value has an empty one; the last two bytes begin the other breaks
			count += 2
		case '-', '?': // the value of either may be missing
			if i+1 == len(line) || line[i+1] <= ' ' || line[i+1] >= 0x80 {
				count += 2
			}
		case ':': // its key and its value may be missing; a colon within a word is a part of the word
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
