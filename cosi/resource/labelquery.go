// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"
	"strings"
)

// LabelOp is an operation of a label term. The numbers are those of the wire.
type LabelOp uint8

// The operations; the comparisons are by bytes, the numeric ones by value with units (10Ki, 4GB).
const (
	LabelExists     LabelOp = 0
	LabelEqual      LabelOp = 1
	LabelIn         LabelOp = 3
	LabelLT         LabelOp = 4
	LabelLTE        LabelOp = 5
	LabelLTNumeric  LabelOp = 6
	LabelLTENumeric LabelOp = 7
)

// LabelTerm is one test of one label.
type LabelTerm struct {
	Key    string
	Values []string
	Op     LabelOp
	Invert bool
}

// LabelQuery matches when all its terms match. A query without terms matches everything.
type LabelQuery struct{ Terms []LabelTerm }

// HasLabel is the term that a label is present.
func HasLabel(key string) LabelTerm { return LabelTerm{Key: key, Op: LabelExists} }

// LabelIs is the term that a label has the value.
func LabelIs(key, value string) LabelTerm {
	return LabelTerm{Key: key, Op: LabelEqual, Values: []string{value}}
}

// LabelIsIn is the term that a label has one of the values.
func LabelIsIn(key string, values ...string) LabelTerm {
	return LabelTerm{Key: key, Op: LabelIn, Values: values}
}

// Not inverts a term.
func Not(t LabelTerm) LabelTerm {
	t.Invert = !t.Invert

	return t
}

// Matches reports whether all terms match the labels.
func (q LabelQuery) Matches(labels KeyValues) bool {
	for i := range q.Terms {
		if !q.Terms[i].Matches(labels) {
			return false
		}
	}

	return true
}

// MatchAnyQuery reports whether one of the queries matches. An empty list matches everything.
func MatchAnyQuery(queries []LabelQuery, labels KeyValues) bool {
	for i := range queries {
		if queries[i].Matches(labels) {
			return true
		}
	}

	return len(queries) == 0
}

// Matches reports whether the term matches. A comparison that is not defined, because the label is missing or
// not a number, never matches, inverted or not.
func (t *LabelTerm) Matches(labels KeyValues) bool {
	holds, defined := t.eval(labels)

	return defined && holds != t.Invert
}

func (t *LabelTerm) eval(labels KeyValues) (holds, defined bool) {
	value, present := labels.Get(t.Key)

	if !present {
		return false, t.Op == LabelExists || t.Op == LabelEqual || t.Op == LabelIn
	}

	if t.Op == LabelExists {
		return true, true
	}

	if len(t.Values) == 0 {
		return false, true
	}

	switch t.Op {
	case LabelEqual:
		return value == t.Values[0], true
	case LabelIn:
		return slices.Contains(t.Values, value), true
	case LabelLT:
		return strings.Compare(value, t.Values[0]) < 0, true
	case LabelLTE:
		return strings.Compare(value, t.Values[0]) <= 0, true
	case LabelLTNumeric, LabelLTENumeric:
		a, okA := parseQuantity(value)
		b, okB := parseQuantity(t.Values[0])

		return a < b || (a == b && t.Op == LabelLTENumeric), okA && okB
	default:
		return false, false
	}
}
