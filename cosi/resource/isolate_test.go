// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// halfSpec has exported and unexported fields.
type halfSpec struct {
	Names []string `protobuf:"1"`
	seen  bool
}

func (halfSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Halves.test.cosi.dev"}
}

// ownedSpec has a field that copies itself.
type ownedSpec struct {
	Owned owned `protobuf:"1"`
}

type owned struct {
	Name   string `protobuf:"1"`
	hidden []string
}

func (o owned) DeepCopy() owned {
	o.hidden = append([]string{"copied"}, o.hidden...)

	return o
}

func (ownedSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Owneds.test.cosi.dev"}
}

// TestCopiesOfUnexportedFields: exported fields are copied deeply in a struct that also has unexported ones.
func TestCopiesOfUnexportedFields(t *testing.T) {
	r := resource.New[halfSpec]("", "a")
	*r.TypedSpec() = halfSpec{Names: []string{"a"}, seen: true}

	c := r.DeepCopy().(*resource.Typed[halfSpec]).TypedSpec() // the copy has the same type
	c.Names[0] = "changed"

	if got := r.TypedSpec().Names[0]; got != "a" || !c.seen {
		t.Errorf("the original became %q, the copy has seen %t", got, c.seen)
	}

	o := resource.New[ownedSpec]("", "a")
	if got := o.DeepCopy().(*resource.Typed[ownedSpec]).TypedSpec().Owned.hidden; len(got) != 1 { // the copy has the same type
		t.Errorf("a field was not copied by its own method: %q", got)
	}
}

type sharingSpec struct {
	Value string `protobuf:"1"`
	cache map[string]string
}

func (s sharingSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Sharings.test.cosi.dev"}
}

type deepSharingSpec struct {
	List []*sharingSpec `protobuf:"1"`
}

func (deepSharingSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "DeepSharings.test.cosi.dev"}
}

type timesSpec struct {
	At   time.Time   `protobuf:"1"`
	List []time.Time `protobuf:"2"`
}

func (timesSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Times.test.cosi.dev"}
}

func TestRegisterRefusesWhatCopiesShare(t *testing.T) {
	_ = sharingSpec{}.cache

	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a map that is not exported":      {resource.Register[sharingSpec](), "field cache"},
		"the same, behind other types":    {resource.Register[deepSharingSpec](), "field cache"},
		"a flag that is not exported":     {resource.Register[halfSpec](), ""},
		"a field that copies itself":      {resource.Register[ownedSpec](), ""},
		"times, which do not change":      {resource.Register[timesSpec](), ""},
		"a type with all kinds of fields": {resource.Register[linkSpec](), ""},
	} {
		if tt.want == "" && tt.err != nil || tt.want != "" && (tt.err == nil || !strings.Contains(tt.err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", name, tt.err, tt.want)
		}
	}
}

// eachSpec has one field of each kind that can differ in Go and have the same encoding.
type eachSpec struct {
	List    []string            `protobuf:"1"`
	Map     map[string]string   `protobuf:"2"`
	Bytes   []byte              `protobuf:"3"`
	At      time.Time           `protobuf:"4"`
	Times   []time.Time         `protobuf:"5"`
	Free    map[string]any      `protobuf:"6"`
	Any     any                 `protobuf:"7"`
	Float   float64             `protobuf:"8"`
	Deep    map[string]*linkLit `protobuf:"9"`
	Pointer *linkLit            `protobuf:"10"`
	Number  big.Int             `protobuf:"11"`
	hidden  int
}

type linkLit struct {
	Names []string  `protobuf:"1"`
	At    time.Time `protobuf:"2"`
	Next  *linkLit  `protobuf:"3"`
}

func (eachSpec) Definition() *resource.Definition {
	return &resource.Definition{Type: "Eaches.test.cosi.dev"}
}

func TestEqualSpecs(t *testing.T) {
	utc := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	there := utc.In(time.FixedZone("there", 7200))

	for _, tt := range []struct {
		name string
		a, b eachSpec
		want bool
	}{
		{"zero", eachSpec{}, eachSpec{}, true},
		{"empty list", eachSpec{List: []string{}}, eachSpec{}, true},
		{"empty map", eachSpec{Map: map[string]string{}}, eachSpec{}, true},
		{"empty bytes", eachSpec{Bytes: []byte{}}, eachSpec{}, true},
		{"location", eachSpec{At: utc}, eachSpec{At: there}, true},
		{"another time", eachSpec{At: utc}, eachSpec{At: there.Add(1)}, false},
		{"locations in a list", eachSpec{Times: []time.Time{utc}}, eachSpec{Times: []time.Time{there}}, true},
		{"one empty string", eachSpec{List: []string{""}}, eachSpec{}, false},
		{"another string", eachSpec{List: []string{"a"}}, eachSpec{List: []string{"b"}}, false},
		{"another key", eachSpec{Map: map[string]string{"a": ""}}, eachSpec{Map: map[string]string{"b": ""}}, false},
		{"types of numbers", eachSpec{Any: 5}, eachSpec{Any: 5.0}, true},
		{"other numbers", eachSpec{Any: 5}, eachSpec{Any: 6.0}, false},
		{"types of lists", eachSpec{Any: []string{"a"}}, eachSpec{Any: []any{"a"}}, true},
		{"types of maps", eachSpec{Free: map[string]any{"m": map[string]int{"k": 1}}}, eachSpec{Free: map[string]any{"m": map[string]any{"k": 1.0}}}, true},
		{"a list and nothing", eachSpec{Any: []any{}}, eachSpec{}, false},
		{"not a number", eachSpec{Float: math.NaN()}, eachSpec{Float: math.NaN()}, true},
		{"big numbers", eachSpec{Number: *big.NewInt(7)}, eachSpec{Number: *big.NewInt(7)}, true},
		{"other big numbers", eachSpec{Number: *big.NewInt(7)}, eachSpec{Number: *big.NewInt(8)}, false},
		{"unexported field", eachSpec{hidden: 1}, eachSpec{hidden: 2}, true},
		{"an empty message", eachSpec{Pointer: &linkLit{}}, eachSpec{}, false},
		{"deep", eachSpec{Deep: map[string]*linkLit{"k": {Next: &linkLit{At: utc, Names: []string{}}}}}, eachSpec{Deep: map[string]*linkLit{"k": {Next: &linkLit{At: there}}}}, true},
		{"deep and another", eachSpec{Pointer: &linkLit{Next: &linkLit{At: utc}}}, eachSpec{Pointer: &linkLit{Next: &linkLit{}}}, false},
	} {
		a, b := resource.New[eachSpec]("", "x"), resource.New[eachSpec]("", "x")
		*a.TypedSpec(), *b.TypedSpec() = tt.a, tt.b

		if got := resource.Equal(a, b) && resource.Equal(b, a); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}
