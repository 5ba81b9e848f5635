// SPDX-License-Identifier: Apache-2.0

// Package conformance is the contract of a state, as tests. Each driver runs it:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func(t *testing.T) state.State { return memory.New() })
//	}
//
// Open is called for each test and returns an empty state that keeps a history of at least 192 events a kind. A driver
// shuts down in t.Cleanup. No goroutine may be left at the end.
package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// ItemSpec is the spec of the resources in the tests.
type ItemSpec struct {
	Value string    `yaml:"value"           protobuf:"1"`
	Parts []string  `yaml:"parts,omitempty" protobuf:"2"`
	At    time.Time `yaml:"at,omitempty"    protobuf:"3"`
}

var itemDefinition = &resource.Definition{Type: "Items.conformance.cosi.dev", DefaultNamespace: "default"}

// Definition implements resource.Spec.
func (ItemSpec) Definition() *resource.Definition { return itemDefinition }

// Item is the resource type of the tests.
type Item = *resource.Typed[ItemSpec]

// NewItem returns an item with a value.
func NewItem(namespace, id, value string) Item {
	r := resource.New[ItemSpec](namespace, id)
	r.TypedSpec().Value = value

	return r
}

// bench is one test over one state.
type bench struct {
	*testing.T
	state.State
	ctx context.Context // of the test
}

type test struct {
	name string
	run  func(b *bench)
}

// Run runs all tests.
func Run(t *testing.T, open func(t *testing.T) state.State) {
	t.Helper()

	if err := resource.Register[ItemSpec](); err != nil {
		t.Fatal(err)
	}

	for _, group := range [][]test{
		crudTests, ownerTests, finalizerTests, modifyTests, sharingTests, listTests, waitTests,
		watchTests, watchKindTests, filterTests, bookmarkTests, tailTests, historyTests,
	} {
		for _, tt := range group {
			t.Run(tt.name, func(t *testing.T) {
				st := open(t)

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				tt.run(&bench{T: t, State: st, ctx: ctx})
			})
		}
	}
}

// patience is the time after which a test fails if an expected event is missing.
const patience = 20 * time.Second

const ns = "conformance"

func ptr(id string) resource.Pointer { return resource.PointerOf[ItemSpec](ns, id) }

func kind() resource.Kind { return resource.KindOf[ItemSpec](ns) }

func (b *bench) ok(err error) {
	b.Helper()

	if err != nil {
		b.Fatal(err)
	}
}

// create creates an item and returns the caller's resource, as it is afterwards.
func (b *bench) create(id string, opts ...state.WriteOption) Item {
	b.Helper()

	r := NewItem(ns, id, "of "+id)
	b.ok(b.Create(b.ctx, r, opts...))

	return r
}

func (b *bench) get(id string) Item {
	b.Helper()

	r, err := b.Get(b.ctx, ptr(id))
	b.ok(err)

	return b.item(r)
}

func (b *bench) item(r resource.Resource) Item {
	b.Helper()

	i, ok := r.(Item)
	if !ok {
		b.Fatalf("%v is a %T", r, r)
	}

	return i
}

// edit changes an existing item.
func (b *bench) edit(id string, fn func(Item)) Item {
	b.Helper()

	r, err := b.UpdateWithConflicts(b.ctx, ptr(id), func(r resource.Resource) error {
		fn(b.item(r))

		return nil
	})
	b.ok(err)

	return b.item(r)
}

// set changes the value of an item.
func (b *bench) set(id, value string) Item {
	b.Helper()

	return b.edit(id, func(i Item) { i.TypedSpec().Value = value })
}

// teardown tears an item down, and reports whether it has no finalizers.
func (b *bench) teardown(id string) bool {
	b.Helper()

	ready, err := b.Teardown(b.ctx, ptr(id))
	b.ok(err)

	return ready
}

func (b *bench) list(opts ...state.ListOption) string {
	b.Helper()

	items, err := b.List(b.ctx, kind(), opts...)
	b.ok(err)

	ids := make([]string, 0, len(items))
	for _, r := range items {
		ids = append(ids, r.Metadata().ID())
	}

	return strings.Join(ids, " ")
}

func equal[T any](b *bench, what string, got, want T) {
	b.Helper()

	if !cmp.Equal(got, want) {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// errOf returns the error of a call with two results.
func errOf[T any](_ T, err error) error { return err }

func (b *bench) wantClass(what string, err error, want state.Class) {
	b.Helper()

	if got := state.ClassOf(err); err == nil || got != want {
		b.Errorf("%s: got error %v of class %d, want class %d", what, err, got, want)
	}
}

// wantConflict accepts any conflict: the wire distinguishes fewer classes of them.
func (b *bench) wantConflict(what string, err error) {
	b.Helper()

	if !state.IsConflict(err) {
		b.Errorf("%s: got %v, want a conflict", what, err)
	}
}
