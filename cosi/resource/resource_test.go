// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
)

type inner struct {
	Names []string          `yaml:"names" protobuf:"1"`
	Map   map[string]string `yaml:"map"   protobuf:"2"`
}

type linkSpec struct {
	Address netip.Prefix   `yaml:"address"         protobuf:"1"`
	Inner   inner          `yaml:"inner"           protobuf:"2"`
	Pointer *inner         `yaml:"pointer"         protobuf:"3"`
	Free    map[string]any `yaml:"free,omitempty"  protobuf:"4"`
	Peers   []inner        `yaml:"peers,omitempty" protobuf:"5"`
	At      time.Time      `yaml:"at,omitempty"    protobuf:"6"`
}

var linkDefinition = &resource.Definition{Type: "Links.test.cosi.dev", DefaultNamespace: "network"}

func (linkSpec) Definition() *resource.Definition { return linkDefinition }

type otherSpec struct{}

func (otherSpec) Definition() *resource.Definition { return linkDefinition }

type badSpec struct {
	F func() `protobuf:"1"`
}

func (badSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Bads.test.cosi.dev"}
}

func link(id string) *resource.Typed[linkSpec] {
	r := resource.New[linkSpec]("", id)
	*r.TypedSpec() = linkSpec{
		Address: netip.MustParsePrefix("10.0.0.1/8"),
		Inner:   inner{Names: []string{"a", "b"}, Map: map[string]string{"k": "v"}},
		Pointer: &inner{Names: []string{"p"}},
		Free:    map[string]any{"l": []any{"x"}, "m": map[string]any{"k": "v"}},
		Peers:   []inner{{Names: []string{"peer"}}},
	}

	return r
}

func ok(t *testing.T, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

func TestDeepCopy(t *testing.T) {
	r := link("eth0")
	c, isLink := r.DeepCopy().(*resource.Typed[linkSpec])

	if !isLink || !resource.Equal(r, c) {
		t.Fatalf("the copy %v differs from %v", c, r)
	}

	s := c.TypedSpec()
	s.Inner.Names[0] = "changed"
	s.Inner.Map["k"] = "changed"
	s.Pointer.Names[0] = "changed"
	s.Free["l"].([]any)[0] = "changed"
	s.Free["m"].(map[string]any)["k"] = "new"
	s.Peers[0].Names[0] = "changed"

	if diff := cmp.Diff(link("eth0").TypedSpec(), r.TypedSpec(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("the original changed with its copy (-want +got):\n%s", diff)
	}

	if resource.Equal(r, c) {
		t.Error("the changed copy equals its original")
	}
}

func TestMetadataEqual(t *testing.T) {
	base := func() resource.Metadata {
		md := resource.NewMetadata("ns", "T", "id")
		md.SetVersion(3)
		md.SetOwner("me")
		md.AddFinalizer("a")
		md.AddFinalizer("b")
		md.SetLabel("l", "1")

		return md
	}

	for name, tt := range map[string]struct {
		edit func(*resource.Metadata)
		same bool
	}{
		"nothing":          {func(*resource.Metadata) {}, true},
		"times":            {func(m *resource.Metadata) { m.SetCreated(time.Now()); m.SetUpdated(time.Now()) }, true},
		"seal":             {func(m *resource.Metadata) { m.Seal() }, true},
		"finalizer order":  {func(m *resource.Metadata) { m.RemoveFinalizer("a"); m.AddFinalizer("a") }, true},
		"version":          {func(m *resource.Metadata) { m.SetVersion(4) }, false},
		"owner":            {func(m *resource.Metadata) { m.SetOwner("") }, false},
		"phase":            {func(m *resource.Metadata) { m.SetPhase(resource.PhaseTearingDown) }, false},
		"finalizer":        {func(m *resource.Metadata) { m.AddFinalizer("c") }, false},
		"other finalizer":  {func(m *resource.Metadata) { m.RemoveFinalizer("a"); m.AddFinalizer("c") }, false},
		"label":            {func(m *resource.Metadata) { m.SetLabel("l", "2") }, false},
		"same label again": {func(m *resource.Metadata) { m.SetLabel("l", "2"); m.SetLabel("l", "1") }, true},
		"no label":         {func(m *resource.Metadata) { m.DeleteLabel("l") }, false},
		"annotation":       {func(m *resource.Metadata) { m.SetAnnotation("l", "1") }, false},
		"id":               {func(m *resource.Metadata) { *m = resource.NewMetadata("ns", "T", "other") }, false},
	} {
		a, b := base(), base()
		tt.edit(&b)

		if got := a.Equal(&b); got != tt.same {
			t.Errorf("%s: got %t, want %t", name, got, tt.same)
		}
	}

	zero, empty := resource.Metadata{}, resource.NewMetadata("", "", "")
	if !zero.Equal(&empty) || zero.Kind() != (resource.Kind{}) || zero.Owner() != "" {
		t.Error("the zero metadata differs from an empty one")
	}
}

func TestMetadataCopies(t *testing.T) {
	md := resource.NewMetadata("ns", "T", "id")
	md.SetLabel("l", "1")
	md.AddFinalizer("a")
	md.Seal()

	c := md.Copy()
	c.SetLabel("l", "2")
	c.AddFinalizer("b")
	c.RemoveFinalizer("a")
	c.SetAnnotation("x", "y")

	if v, _ := md.Labels().Get("l"); v != "1" || len(md.Finalizers()) != 1 || md.Annotations().Len() != 0 {
		t.Errorf("the original changed with its copy: %q %v", v, md.Finalizers())
	}

	defer func() {
		if recover() == nil {
			t.Error("changing a sealed version did not panic")
		}
	}()

	md.SetVersion(1)
}

func TestSize(t *testing.T) {
	if got := unsafe.Sizeof(resource.Metadata{}); got > 64 {
		t.Errorf("metadata takes %d bytes, the budget is 64", got)
	}

	if got := unsafe.Sizeof(resource.Typed[otherSpec]{}); got > 80 {
		t.Errorf("a resource takes %d bytes, the budget is 80", got)
	}
}

func TestWire(t *testing.T) {
	ok(t, resource.Register[linkSpec]())

	r := link("eth0")
	md := r.Metadata()
	md.SetVersion(7)
	md.SetOwner("me")
	md.SetPhase(resource.PhaseTearingDown)
	md.SetCreated(time.Unix(1700000000, 5))
	md.SetUpdated(time.Unix(-3, 5))
	md.SetLabel("l", "1")
	md.SetAnnotation("a", "2")
	md.AddFinalizer("f")

	frame, err := resource.WireFrame(r)
	ok(t, err)

	// Generated code reads and writes the same resource.
	var pb v1alpha1.GetResponse
	ok(t, proto.Unmarshal(frame, &pb))

	if got := pb.GetResource().GetMetadata(); got.GetVersion() != "7" || got.GetPhase() != "tearingDown" || got.GetLabels()["l"] != "1" ||
		!got.GetUpdated().AsTime().Equal(time.Unix(-3, 5)) || got.GetFinalizers()[0] != "f" {
		t.Errorf("got %v", got)
	}

	raw, err := proto.Marshal(pb.GetResource())
	ok(t, err)

	back, err := resource.UnmarshalWire(raw, false)
	ok(t, err)

	if !resource.Equal(back, r) || !back.Metadata().Created().Equal(md.Created()) || !back.Metadata().Updated().Equal(md.Updated()) {
		t.Errorf("got %v, want %v", back.Metadata(), md)
	}

	stored, err := resource.MarshalWire(r)
	ok(t, err)

	if back, err = resource.UnmarshalWire(stored, false); err != nil || !resource.Equal(back, r) {
		t.Errorf("got %v (%v), want %v", back, err, md)
	}

	opaque, err := resource.UnmarshalWire(raw, true)
	ok(t, err)

	again, err := resource.WireFrame(opaque)
	ok(t, err)

	if string(again) != string(frame) {
		t.Error("an opaque resource did not pass through unchanged")
	}

	bad := link("\xff")
	if _, err := resource.WireFrame(bad); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v, want an error", err)
	}
}

// TestWireCache: an immutable version is encoded once, and the next version with the same spec does not encode the spec again.
func TestWireCache(t *testing.T) {
	frame := func(r resource.Resource) []byte {
		b, err := resource.WireFrame(r)
		ok(t, err)

		return b
	}

	r := link("eth0")
	a := frame(r)
	r.TypedSpec().Inner.Names[0] = "changed"

	if b := frame(r); string(a) == string(b) {
		t.Error("a mutable resource was encoded only once")
	}

	r.Metadata().Seal()

	if a, b := frame(r), frame(r); &a[0] != &b[0] {
		t.Error("an immutable version was encoded twice")
	}

	md := r.Metadata().Copy()
	md.SetVersion(2)

	next := r.WithMetadata(md)
	next.Metadata().Seal()

	var pb v1alpha1.GetResponse
	ok(t, proto.Unmarshal(frame(next), &pb))

	if pb.GetResource().GetMetadata().GetVersion() != "2" || !strings.Contains(pb.GetResource().GetSpec().GetYamlSpec(), "changed") {
		t.Errorf("got %v", &pb)
	}
}

func TestRegister(t *testing.T) {
	ok(t, resource.Register[linkSpec]())
	ok(t, resource.Register[linkSpec]())

	if err := resource.Register[otherSpec](); err == nil || !strings.Contains(err.Error(), "already registered") {
		t.Errorf("another type: got %v", err)
	}

	if err := resource.Register[badSpec](); err == nil || !strings.Contains(err.Error(), "F: type func()") {
		t.Errorf("a spec without a protobuf form: got %v", err)
	}

	r, known := resource.NewOfType(linkDefinition.Type, "", "x")
	if !known || r.Metadata().Namespace() != "network" {
		t.Errorf("got %v, %t", r, known)
	}

	if _, isLink := r.Spec().(*linkSpec); !isLink {
		t.Errorf("got a spec %T", r.Spec())
	}

	if _, known := resource.NewOfType("None", "", "x"); known {
		t.Error("an unknown type is known")
	}

	if got := resource.RegisteredTypes(); len(got) == 0 || got[0] == nil {
		t.Errorf("got %v", got)
	}
}

func TestKeyValues(t *testing.T) {
	kv := resource.KeyValuesOf(map[string]string{"b": "2", "a": "1"})

	var got []string
	for k, v := range kv.With("c", "3").Without("a").With("b", "x").All() {
		got = append(got, k+v)
	}

	if diff := cmp.Diff([]string{"bx", "c3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, kv.Map()); diff != "" {
		t.Errorf("the original (-want +got):\n%s", diff)
	}

	if _, found := kv.Get("zz"); found || (resource.KeyValues{}).Map() != nil {
		t.Error("found a missing key")
	}
}

func TestTombstone(t *testing.T) {
	tomb := resource.NewTombstone(resource.Pointer{Namespace: "n", Type: "T", ID: "x"})

	if got, want := fmt.Sprint(tomb.Metadata()), "T(n/x@undefined)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	if tomb.Spec() != nil || !tomb.Metadata().Sealed() {
		t.Error("a tombstone has a spec, or can be changed")
	}
}

func BenchmarkDeepCopy(b *testing.B) {
	r := link("eth0")

	b.ReportAllocs()

	for b.Loop() {
		r.DeepCopy()
	}
}

func FuzzUnmarshalWire(f *testing.F) {
	if err := resource.Register[linkSpec](); err != nil {
		f.Fatal(err)
	}

	r := link("eth0")
	r.Metadata().SetLabel("k", "v")
	r.Metadata().AddFinalizer("f")

	seed, err := resource.MarshalWire(r)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(seed)

	f.Fuzz(func(t *testing.T, b []byte) {
		for _, opaque := range []bool{false, true} {
			r, err := resource.UnmarshalWire(b, opaque)
			if err != nil {
				continue
			}

			enc, err := resource.MarshalWire(r)
			if err != nil {
				t.Fatalf("a decoded resource cannot be encoded: %v", err)
			}

			back, err := resource.UnmarshalWire(enc, opaque)
			if err != nil || !back.Metadata().Equal(r.Metadata()) {
				t.Fatalf("got %v (%v), want %v", back, err, r.Metadata())
			}
		}
	})
}
