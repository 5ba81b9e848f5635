// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// FuzzAtMostValues checks that the bound is never smaller than the number of values that the library parses.
func FuzzAtMostValues(f *testing.F) {
	for _, text := range []string{
		"", "a", "a: b\n", "- a\n- - b\n  - c\n", "[a, b, {c: d}]\n", `{"a":"b","c":[1,2]}`, "? a\n: b\n", "a: |\n  b: [c, d]\n  e\nf: g\n",
		"- key: |\n    x\n [a,a,a]\n", "a: \"b |\n  c\", d\n", "a: [\n b: |\n  c, d]\n", "# it's\na: |\n  [,,,\n", "a: &x b\nc: *x\n", "---\na\n---\nb\n",
		"a: >-\n\n   text: [\n\n b: c\n", "a: [ \"]\",\nb: |\n   c, d, e]\n", "a:\rb\r- c", "x: !!str y\n", "a: 'it''s'\nb: |+\n  - x\n  - y\n", "- - - - a\n",
		"'a':b\n", "{'a':{b: c}}\n", "a: |\n  x\n\t- y\n", ":\u2028", "a: |\n b\u2028[c,d,e,f]\n", "a: |\n b\u0085[c,d,e,f]\n",
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		got, most := 0, atMostValues(text)

		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var node yaml.Node
			if decoder.Decode(&node) != nil {
				break
			}

			got += valuesOf(&node)
		}

		if got > most {
			t.Errorf("%q has %d values, and at most %d were expected", text, got, most)
		}
	})
}

func valuesOf(node *yaml.Node) int {
	n := 0
	for _, part := range node.Content {
		n += 1 + valuesOf(part)
	}

	return n
}

// TestBounds tests texts that are rejected before the library parses them, and large texts that are accepted.
func TestBounds(t *testing.T) {
	manifest := strings.Repeat("        - {name: a, value: \"b\"}, [it's]\n", 10_000)

	for _, tt := range []struct {
		name, text, want string
	}{
		{"size", strings.Repeat("x", MaxSize+1), "bytes: want at most 1048576"},
		{"commas", "a: [" + strings.Repeat("a,", 100_000), "values: want at most 20000"},
		{"brackets", strings.Repeat("[", 100_000), "values: want at most 20000"},
		{"dashes", strings.Repeat("- ", 100_000), "values: want at most 20000"},
		{"keys", strings.Repeat("a:\n", 100_000), "values: want at most 20000"},
		{"documents", strings.Repeat("---\n", 100_000), "values: want at most 20000"},
		{"a large manifest", "machine: {}\ncluster:\n  inlineManifests:\n    - name: x\n      contents: |\n" + manifest, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Split([]byte(tt.text))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %.300v, want %q", err, tt.want)
			}
		})
	}
}
