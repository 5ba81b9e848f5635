// SPDX-License-Identifier: Apache-2.0

package strict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/strict"
)

type header struct {
	Kind string `yaml:"kind"`
}

type inner struct {
	Name  string `yaml:"name"`
	Count *int   `yaml:"count"`
}

type outer struct {
	header `yaml:",inline"`

	Flag   bool             `yaml:"flag"`
	Small  int8             `yaml:"small"`
	Ratio  float64          `yaml:"ratio"`
	Inner  inner            `yaml:"inner"`
	Inners []inner          `yaml:"inners"`
	ByName map[string]inner `yaml:"byName"`
	Free   any              `yaml:"free"`
	hidden string
}

var _ = outer{}.hidden // not a key, because it is not exported

func decode(t *testing.T, text string) (outer, strict.Problems) {
	t.Helper()

	var node yaml.Node

	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}

	var out outer

	problems := strict.Decode(&node, &out)

	return out, problems
}

func TestDecode(t *testing.T) {
	got, problems := decode(t, "kind: k\nflag: true\nsmall: -3\nratio: 0.5\ninner: {name: a, count: 1}\ninners: [{name: b}, null]\nbyName: {x: {name: c}}\nfree: [1, {a: null}]\n")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}

	want := outer{
		header: header{Kind: "k"}, Flag: true, Small: -3, Ratio: 0.5,
		Inner: inner{Name: "a", Count: new(1)}, Inners: []inner{{Name: "b"}, {}},
		ByName: map[string]inner{"x": {Name: "c"}}, Free: []any{int64(1), map[string]any{"a": nil}},
	}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{})); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"hidden: x", `line 1:1, hidden: unknown key; known keys: byName, flag, free, inner, inners, kind, ratio, small`},
		{"count: 1", `line 1:1, count: unknown key; it belongs under inner or inners`},
		{"small: 200", `line 1:8, small: want a whole number of 8 bits, got the number "200"`},
		{"ratio: much", `line 1:8, ratio: want a number, got the string "much"`},
		{"inners:\n- name: a\n- nam: b", `line 3:3, inners[1].nam: unknown key; did you mean "name"?`},
		{"byName: {a.b: {name: []}}", `line 1:22, byName["a.b"].name: want a string, got a list`},
		{"inner: [1]", `line 1:8, inner: want an object (key: value), got a list`},
		{"? [a]\n: b", `line 1:3: want a plain key, got a list`},
	} {
		_, problems := decode(t, test.text)

		if err := problems.Err(); err == nil || err.Error() != test.want {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

func TestManyProblems(t *testing.T) {
	var b strings.Builder

	for i := range 30 {
		fmt.Fprintf(&b, "zzzzzz%d: 1\n", i)
	}

	_, problems := decode(t, b.String())

	if got := problems.Error(); !strings.HasPrefix(got, "30 problems:\n  * line 1:1") || !strings.HasSuffix(got, "… and 10 more") {
		t.Errorf("got %s", got)
	}
}

func TestJoin(t *testing.T) {
	for _, test := range []struct{ path, key, want string }{
		{"", "a", "a"},
		{"a", "b", "a.b"},
		{"a", "b.c", `a["b.c"]`},
		{"a", "", `a[""]`},
		{"a", "é\n", `a["é\n"]`},
	} {
		if got := strict.Join(test.path, test.key); got != test.want {
			t.Errorf("%q, %q: got %s, want %s", test.path, test.key, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"hostname", "hostDNS", "interfaces", "mtu"}

	for _, test := range []struct {
		word string
		want []string
	}{
		{"hostnme", []string{"hostname"}},
		{"HOSTNAME", []string{"hostname"}},
		{"interface", []string{"interfaces"}},
		{"mut", []string{"mtu"}},
		{"entirelyelse", nil},
		{"", nil},
	} {
		if diff := cmp.Diff(test.want, strict.Nearest(test.word, names)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.word, diff)
		}
	}
}
