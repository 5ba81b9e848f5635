// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// maxExpression limits an expression, in bytes. An id usually has fewer than 100.
	maxExpression = 1 << 10
	// maxStates limits the estimated states of the compiled expression. Each takes some 200 bytes during compilation; a
	// thousand bytes of "(.{1,9}){100}" would be a hundred thousand states.
	maxStates = 4096
)

// compile is regexp.Compile for untrusted expressions.
func compile(expr string) (*regexp.Regexp, error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes, more than the %d that are allowed", len(expr), maxExpression)
	}

	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}

	if n := states(tree); n > maxStates {
		return nil, fmt.Errorf("the expression repeats too much: it has about %d states, more than the %d that are allowed", n, maxStates)
	}

	return regexp.Compile(expr)
}

// states estimates the states of a parsed expression. The parser limits nested repeats to a thousand.
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
