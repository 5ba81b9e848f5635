// SPDX-License-Identifier: Apache-2.0

// Package nft keeps one table of the kernel's packet filter (nf_tables) as wanted.
//
// A Table is a value: chains of rules, and the named sets that rules look addresses, ports and links up in. Diff compares the table of the
// kernel with a wanted one, and Kernel makes the changes: first it creates new sets, which no rule names yet, then all else in one
// transaction. Packets see the rules before or after it, never something between, and a change that the kernel refuses changes nothing.
//
// A set is changed element by element, as often as an address changes, and its rules stay. A chain whose rules change gets all its rules
// again. Rules are compared by their text, which is in the kernel as the comment of the rule: the kernel's own form of a rule has no
// unique inverse.
//
// Other programs, such as kube-proxy, have tables of their own, which this package neither reads nor changes.
package nft

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/nftables/expr"
)

// Table has all that the table of the kernel has.
type Table struct {
	Chains []Chain
	Sets   []Set
}

// Chain is a list of rules at a hook.
type Chain struct {
	Name string
	// Type is filter or route.
	Type string
	// Hook and Priority are the kernel's numbers.
	Hook     uint32
	Priority int32
	// Accept is what becomes of packets without a verdict: they are accepted or dropped.
	Accept bool
	Rules  []Rule
}

// Rule is a list of expressions.
type Rule struct {
	// Text says what the rule does: rules with the same text have the same expressions. The table of the kernel has only the text.
	Text  string
	Exprs []expr.Any
}

// maxComment is the longest text that is stored with a rule: it has a length of one byte.
const maxComment = 200

// comment returns the text, or a hash of a long one.
func (r Rule) comment() string {
	if len(r.Text) <= maxComment {
		return r.Text
	}

	sum := sha256.Sum256([]byte(r.Text))

	return hex.EncodeToString(sum[:])
}

// Kind is what a set has.
type Kind string

// The kinds of sets.
const (
	Addresses4 Kind = "addr4"
	Addresses6 Kind = "addr6"
	Ports      Kind = "ports"
	Links      Kind = "links"
	ICMPTypes  Kind = "icmp"
)

// Set is a set of values that rules name.
type Set struct {
	Name string
	Kind Kind
	// Ranges are sorted and have a gap between each other.
	Ranges []Range
}

// Range is the values from one to another, both included, as they are in a packet. Kinds other than addresses and ports have ranges of one
// value.
type Range struct{ First, Last string }

// One returns the range of one value.
func One(value string) Range { return Range{value, value} }

// intervals reports whether sets of the kind have ranges of more than one value.
func (k Kind) intervals() bool { return k == Addresses4 || k == Addresses6 || k == Ports }
