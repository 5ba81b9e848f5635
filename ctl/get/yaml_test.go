// SPDX-License-Identifier: Apache-2.0

package get

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/ctl/session"
)

func TestYAMLSpecKeepsText(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
	}{
		{name: "mapping", text: "a: 1 # why\n\nb: [2]\n", want: "spec:\n    a: 1 # why\n\n    b: [2]\n"},
		{name: "comment first", text: "# why\na: 1\n", want: "spec:\n    # why\n    a: 1\n"},
		{name: "list", text: "- a\n- b\n", want: "spec:\n    - a\n    - b\n"},
		{name: "nothing", text: "", want: "spec: {}\n"},
		{name: "empty mapping", text: "{}\n", want: "spec: {}\n"},
		{name: "scalar", text: "5m\n", want: "spec: 5m\n"},
		{name: "literal", text: "|\n    a: 1 # why\n", want: "spec: |\n    a: 1 # why\n"},
		{name: "document marker", text: "---\na: 1\n", want: "spec:\n    a: 1\n"},
		{name: "documents", text: "a: 1\n---\nb: 2\n", want: "spec: |\n    a: 1\n    ---\n    b: 2\n"},
		{name: "literal that would lose its indentation", text: "a: |1\n  b\n", want: "spec:\n    a: |1\n      b\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamlSpec(tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// FuzzYAMLSpec: a printed document has the same meaning as the spec of the node.
func FuzzYAMLSpec(f *testing.F) {
	for _, text := range []string{"a: 1 # b\n", "- x\n", "|\n  a\n", "a: >-\n  b\n  c\n", "---\n{}\n", "&x a: *x\n", "? a\n", "\"a\nb\"\n", "2026-11-21", "%YAML 1.2\n---\na: 1\n"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		want, err := session.DecodePlain(text)
		if err != nil || session.ManyDocuments(text) {
			return
		}

		if want == nil {
			want = map[string]any{}
		}

		printed, err := yamlSpec(text)
		if err != nil {
			t.Fatalf("%q decodes and does not print: %v", text, err)
		}

		got, err := session.DecodePlain(printed)
		if err != nil || yamlValue(got) != yamlValue(map[string]any{"spec": want}) {
			t.Errorf("%q is printed as %q: got %#v, %v, want %#v", text, printed, got, err, want)
		}
	})
}
