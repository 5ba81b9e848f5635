// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxExpression in bytes. An id has some tens.
	maxExpression = 1 << 10
	// maxStates of the program that an expression becomes, about. Each takes some 200 bytes while it is compiled; a thousand
	// bytes of "(.{1,9}){100}" would be a hundred thousand.
	maxStates = 4096
)

// compile is regexp.Compile for expressions of anybody.
func compile(expr string) (*regexp.Regexp, error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, more than the %d that are allowed", len(expr), maxExpression)
	}

	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}

	if n := states(tree); n > maxStates {
		return nil, fmt.Errorf("the expression repeats too much: it takes some %d states, more than the %d that are allowed", n, maxStates)
	}

	return regexp.Compile(expr)
}

// states that a parsed expression takes. The parser sees to it that repeats within repeats are no more than a thousand.
func states(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)

	for _, sub := range re.Sub {
		n += states(sub)
	}

	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}

	return n
}
