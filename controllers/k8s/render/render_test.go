// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
)

func TestFill(t *testing.T) {
	values := render.Values{
		"image": "registry/x:v1", "args": []any{"--a", "--b"}, "port": 53, "none": render.Omit,
		"evil": "a: b\n- c: ${image}",
	}

	for name, test := range map[string]struct {
		template string
		want     []render.Object
		err      string
	}{
		"whole scalars keep their type": {
			template: "image: ${image}\nargs: ${args}\nport: ${port}",
			want:     []render.Object{{"image": "registry/x:v1", "args": []any{"--a", "--b"}, "port": 53}},
		},
		"inside a text":                         {template: "x: http://${image}:${port}/", want: []render.Object{{"x": "http://registry/x:v1:53/"}}},
		"omitted":                               {template: "a: ${none}\nb: [1, '${none}', 2]", want: []render.Object{{"b": []any{1, 2}}}},
		"a value does not change the structure": {template: "x: ${evil}", want: []render.Object{{"x": "a: b\n- c: ${image}"}}},
		"several documents":                     {template: "---\na: 1\n---\n---\nb: 2\n", want: []render.Object{{"a": 1}, {"b": 2}}},
		"pod variables stay":                    {template: "x: $(POD_IP)", want: []render.Object{{"x": "$(POD_IP)"}}},
		"unknown value":                         {template: "a: {b: ['${nope}']}", err: "a: b: [0]: no value for ${nope}"},
		"not closed":                            {template: "a: ${image", err: "without }"},
		"not an object":                         {template: "- a", err: "want an object"},
		"not YAML":                              {template: "a: [", err: "YAML document 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render.Parse([]byte(test.template))
			if err == nil {
				got, err = render.Fill(got, values)
			}

			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse checks that no text of an inline manifest causes a panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: 1\n---\nb: [x, {y: z}]"))
	f.Add([]byte("? [complex]\n: key"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := render.Parse(text)
		if err == nil {
			for _, o := range objects {
				if o == nil {
					t.Error("a nil object without an error")
				}
			}
		}
	})
}

// TestFillKeepsTemplate: what is rendered may be changed, and the template rendered again.
func TestFillKeepsTemplate(t *testing.T) {
	template, err := render.Parse([]byte("a: {b: '${x}', c: {}}\nd: [1, '${x}', {e: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}

	first, err := render.Fill(template, render.Values{"x": render.Omit})
	if err != nil {
		t.Fatal(err)
	}

	first[0]["a"].(render.Object)["c"].(render.Object)["f"] = 1
	first[0]["d"].([]any)[1].(render.Object)["e"] = 2

	second, err := render.Fill(template, render.Values{"x": "y"})
	if err != nil {
		t.Fatal(err)
	}

	want := []render.Object{{"a": render.Object{"b": "y", "c": render.Object{}}, "d": []any{1, "y", render.Object{"e": 1}}}}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
