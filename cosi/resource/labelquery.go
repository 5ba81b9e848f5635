// SPDX-License-Identifier: Apache-2.0

package resource

// LabelOp numbers are those of the wire.
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

// LabelQuery holds when all its terms hold; one without terms matches everything.
type LabelQuery struct{ Terms []LabelTerm }
