// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/resource"
)

const printed = `metadata:
    namespace: network
    type: Links.test.cosi.dev
    id: eth0
    version: 3
    owner:
    phase: running
    created: 2023-11-14T22:13:20Z
    updated: 2023-11-14T22:13:21Z
    labels:
        a: 1
        b: two words
    annotations:
        note: "x: y"
    finalizers:
        - f2
        - f1
spec:
    address: 10.0.0.1/8
    inner:
        names:
            - a
            - b
        map:
            k: v
    pointer: null
`

func TestMarshalYAML(t *testing.T) {
	ok(t, resource.Register[linkSpec]())

	r := link("eth0")
	r.TypedSpec().Pointer, r.TypedSpec().Free, r.TypedSpec().Peers = nil, nil, nil

	md := r.Metadata()
	md.SetVersion(3)
	md.SetCreated(time.Unix(1700000000, 0))
	md.SetUpdated(time.Unix(1700000001, 999))
	md.SetLabel("b", "two words")
	md.SetLabel("a", "1")
	md.SetAnnotation("note", "x: y")
	md.AddFinalizer("f2")
	md.AddFinalizer("f1")

	t.Setenv("TZ", "UTC")

	b, err := resource.MarshalYAML(r)
	ok(t, err)

	want := strings.ReplaceAll(printed, "2023-11-14T22:13:20Z", time.Unix(1700000000, 0).Format(time.RFC3339))
	want = strings.ReplaceAll(want, "2023-11-14T22:13:21Z", time.Unix(1700000001, 0).Format(time.RFC3339))
	want = strings.ReplaceAll(want, `"x: y"`, `'x: y'`)

	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	back, err := resource.UnmarshalYAML(b)
	ok(t, err)

	if !resource.Equal(back, r) || back.Metadata().Created().Unix() != 1700000000 {
		t.Errorf("got %+v %v, want the printed resource", back.Metadata(), back.Spec())
	}

	only, err := resource.UnmarshalMetadataYAML([]byte("namespace: n\ntype: T\nid: 1\nversion: undefined\nwhatever: [1]\n"))
	ok(t, err)

	if got := only.String(); got != "T(n/1@undefined)" {
		t.Errorf("got %s", got)
	}
}

// TestOpaqueYAML: comments and layout of an undecoded spec are kept.
func TestOpaqueYAML(t *testing.T) {
	spec := "# head\nb: 1 # side\na:\n    - x\n"
	r := resource.NewOpaque(resource.NewMetadata("n", "Ts.dev", "x"), resource.RawSpec{YAML: spec})

	b, err := resource.MarshalYAML(r)
	ok(t, err)

	_, got, _ := strings.Cut(string(b), "spec:\n")
	if got != "    # head\n    b: 1 # side\n    a:\n        - x\n" {
		t.Errorf("got %q", got)
	}

	for text, want := range map[string]string{"": "spec: {}\n", "|\n  text\n  more\n": "spec: |\n    text\n    more\n"} {
		b, err := resource.MarshalYAML(resource.NewOpaque(resource.NewMetadata("n", "Ts.dev", "x"), resource.RawSpec{YAML: text}))
		ok(t, err)

		if !strings.HasSuffix(string(b), want) {
			t.Errorf("%q: got %s", text, b)
		}
	}

	bad := resource.NewOpaque(resource.NewMetadata("n", "Ts.dev", "x"), resource.RawSpec{YAML: "\t:"})
	if _, err := resource.MarshalYAML(bad); err == nil {
		t.Error("malformed YAML was printed")
	}
}

func TestUnmarshalYAMLErrors(t *testing.T) {
	ok(t, resource.Register[linkSpec]())

	meta := "metadata:\n  namespace: n\n  type: Links.test.cosi.dev\n  id: x\n"

	for name, tt := range map[string]struct{ in, want string }{
		"empty":              {"", "empty"},
		"not YAML":           {"\t:", "resource:"},
		"a list":             {"- a", "line 1, column 1: resource is not a mapping"},
		"no spec":            {meta, "needs both"},
		"unknown key":        {meta + "spec: {}\nstatus: {}\n", `line 6, column 1: unknown key "status"`},
		"spec is text":       {meta + "spec: x\n", "line 5, column 7: spec is not a mapping"},
		"metadata is text":   {"metadata: x\nspec: {}\n", "metadata is not a mapping"},
		"unknown type":       {"metadata:\n  type: None\nspec: {}\n", `type "None" is not registered`},
		"bad version":        {meta + "  version: -1\nspec: {}\n", `line 5, column 12: version "-1"`},
		"bad phase":          {meta + "  phase: gone\nspec: {}\n", `phase "gone"`},
		"bad time":           {meta + "  created: today\nspec: {}\n", "line 5, column 12"},
		"id is a list":       {"metadata:\n  id: [a]\nspec: {}\n", "line 2, column 7: expected text"},
		"labels are a list":  {meta + "  labels: [a]\nspec: {}\n", "expected a mapping of text"},
		"label is a list":    {meta + "  labels:\n    a: [b]\nspec: {}\n", "line 6, column 8"},
		"finalizer is map":   {meta + "  finalizers:\n    - a: b\nspec: {}\n", "line 6, column 7"},
		"finalizers text":    {meta + "  finalizers: a\nspec: {}\n", "expected a list"},
		"spec of wrong type": {meta + "spec:\n  peers: 1\n", "spec of Links.test.cosi.dev(n/x@undefined)"},
	} {
		if _, err := resource.UnmarshalYAML([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzUnmarshalYAML(f *testing.F) {
	if err := resource.Register[linkSpec](); err != nil {
		f.Fatal(err)
	}

	f.Add(printed)
	f.Add("metadata: &a {type: Links.test.cosi.dev}\nspec: *a\n")

	f.Fuzz(func(t *testing.T, doc string) {
		r, err := resource.UnmarshalYAML([]byte(doc))
		if err != nil {
			return
		}

		if _, err := resource.MarshalYAML(r); err != nil {
			t.Errorf("a decoded resource cannot be printed: %v", err)
		}
	})
}
