// SPDX-License-Identifier: Apache-2.0

package protoenc_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// TestInspectRefusesWhatMarshalRefuses puts text that is not UTF-8 wherever text can be.
func TestInspectRefusesWhatMarshalRefuses(t *testing.T) {
	const bad = "\xff"

	type free struct {
		Any    any            `protobuf:"1"`
		Struct map[string]any `protobuf:"2"`
	}

	for name, v := range map[string]any{
		"string":                    everything{String: bad},
		"nested":                    everything{Nested: nested{Name: bad}},
		"nested in itself":          everything{Nested: nested{Inner: []nested{{Inner: []nested{{Name: bad}}}}}},
		"pointer":                   everything{Pointer: &nested{Name: bad}},
		"list":                      everything{Strings: []string{"good", bad}},
		"list of messages":          everything{List: []nested{{}, {Name: bad}}},
		"list of pointers":          everything{Pointers: []*nested{nil, {Name: bad}}},
		"key":                       everything{Map: map[string]string{bad: ""}},
		"value":                     everything{Map: map[string]string{"": bad}},
		"message in a map":          everything{Messages: map[string]nested{"": {Name: bad}}},
		"any":                       free{Any: bad},
		"any list":                  free{Any: []any{1, bad}},
		"any list of strings":       free{Any: []string{bad}},
		"struct":                    free{Struct: map[string]any{"a": bad}},
		"key of a struct":           free{Struct: map[string]any{bad: nil}},
		"struct within":             free{Struct: map[string]any{"a": map[string]any{"b": []any{bad}}}},
		"bytes, which are not text": everything{Bytes: []byte(bad)},
		"nothing":                   everything{},
		"good text":                 full(),
	} {
		_, marshal := protoenc.Marshal(v)
		_, inspect := protoenc.Inspect(v)

		if (marshal == nil) != (inspect == nil) {
			t.Errorf("%s: Marshal says %v, Inspect %v", name, marshal, inspect)
		}

		if inspect != nil && !strings.Contains(inspect.Error(), "is not UTF-8") {
			t.Errorf("%s: got %v", name, inspect)
		}
	}
}

// TestInspectCountsMemory compares the memory that a value refers to; the size of the value itself is the same for all.
func TestInspectCountsMemory(t *testing.T) {
	text := strings.Repeat("x", 10_000)

	base, err := protoenc.Inspect(everything{})
	if err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		v     everything
		least int
	}{
		"string":  {everything{String: text}, 10_000},
		"bytes":   {everything{Bytes: []byte(text)}, 10_000},
		"list":    {everything{Strings: []string{text, text}}, 20_000},
		"numbers": {everything{Ints: make([]int64, 1000)}, 8000},
		"map":     {everything{Map: map[string]string{text: text}}, 20_000},
		"deep":    {everything{Messages: map[string]nested{"": {Inner: []nested{{Name: text}}}}}, 10_000},
		"pointer": {everything{Pointer: &nested{Name: text}}, 10_000},
	} {
		size, err := protoenc.Inspect(&tt.v)
		if err != nil {
			t.Fatal(err)
		}

		if got := size - base; got < tt.least || got > tt.least+1000 {
			t.Errorf("%s: got %d bytes, want about %d", name, got, tt.least)
		}
	}
}
