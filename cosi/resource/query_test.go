// SPDX-License-Identifier: Apache-2.0

package resource

import "testing"

func TestParseQuantity(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{" 42 ", 42, true},
		{"-7", -7, true},
		{"1k", 1000, true},
		{"1 KB", 1000, true},
		{"10kg", 10_000, true},
		{"4GB", 4_000_000_000, true},
		{"4GiB", 4 << 30, true},
		{"4Gi", 4 << 30, true},
		{"5min", 5 << 20, true},
		{"2m", 2_000_000, true},
		{"1t", 1e12, true},
		{"1Pi", 1 << 50, true},
		{"1p", 1e15, true},
		{"", 0, false},
		{"x", 0, false},
		{"1x", 0, false},
		{"1.5", 0, false},
		{"--1", 0, false},
		{"1-", 0, false},
		{"99999999999999999999", 0, false},
		{"k", 0, false},
	} {
		got, ok := parseQuantity(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: got %d, %t, want %d, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// TestTerm covers terms that are not defined: neither the term nor its inverse matches.
func TestTerm(t *testing.T) {
	labels := KeyValuesOf(map[string]string{"k": "v", "n": "10"})

	for _, tt := range []struct {
		name           string
		term           LabelTerm
		want, inverted bool
	}{
		{"exists", LabelTerm{Key: "k", Op: LabelExists}, true, false},
		{"exists, missing", LabelTerm{Key: "x", Op: LabelExists}, false, true},
		{"equal", LabelIs("k", "v"), true, false},
		{"equal, missing", LabelIs("x", "v"), false, true},
		{"equal to nothing", LabelTerm{Key: "k", Op: LabelEqual}, false, true},
		{"in, missing", LabelIsIn("x", "v"), false, true},
		{"in nothing", LabelIsIn("k"), false, true},
		{"less, missing", LabelTerm{Key: "x", Op: LabelLT, Values: []string{"z"}}, false, false},
		{"less than nothing", LabelTerm{Key: "k", Op: LabelLT}, false, true},
		{"less", LabelTerm{Key: "k", Op: LabelLT, Values: []string{"w"}}, true, false},
		{"not less", LabelTerm{Key: "k", Op: LabelLT, Values: []string{"v"}}, false, true},
		{"numeric, not a number", LabelTerm{Key: "k", Op: LabelLTNumeric, Values: []string{"1"}}, false, false},
		{"numeric, against no number", LabelTerm{Key: "n", Op: LabelLTENumeric, Values: []string{"x"}}, false, false},
		{"numeric", LabelTerm{Key: "n", Op: LabelLTENumeric, Values: []string{"10"}}, true, false},
		{"unknown operation", LabelTerm{Key: "k", Op: 99, Values: []string{"v"}}, false, false},
	} {
		if got := tt.term.Matches(labels); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}

		not := Not(tt.term)
		if got := not.Matches(labels); got != tt.inverted {
			t.Errorf("%s, inverted: got %t, want %t", tt.name, got, tt.inverted)
		}
	}

	if !MatchAnyQuery(nil, labels) || !MatchAnyQuery([]LabelQuery{{}}, labels) {
		t.Error("no query, or one without terms, does not match everything")
	}
}

func FuzzQuantity(f *testing.F) {
	f.Add("4GiB", "k")
	f.Add("-9223372036854775808", "")

	f.Fuzz(func(_ *testing.T, value, key string) {
		for op := range LabelOp(9) {
			term := LabelTerm{Key: key, Op: op, Values: []string{value}}
			term.Matches(KeyValuesOf(map[string]string{key: value}))
		}
	})
}
