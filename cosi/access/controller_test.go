// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"context"
	"testing"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

type inSpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

type outSpec struct {
	Value string `yaml:"value" protobuf:"1"`
}

var (
	inDefinition  = &resource.Definition{Type: "Ins.test.cosi.dev", DefaultNamespace: "default"}
	outDefinition = &resource.Definition{Type: "Outs.test.cosi.dev", DefaultNamespace: "default"}
)

func (inSpec) Definition() *resource.Definition  { return inDefinition }
func (outSpec) Definition() *resource.Definition { return outDefinition }

// TestFinalizersOfOthers: a guest adds and removes its own finalizer, by any call, and no other finalizer, neither on its
// inputs nor on its outputs.
func TestFinalizersOfOthers(t *testing.T) {
	in, out := resource.PointerOf[inSpec]("", "x"), resource.PointerOf[outSpec]("", "x")
	mine := state.WithOwner("Guest")

	// change returns the edit made by each of the calls.
	change := func(ptr resource.Pointer, owner string, edit func(md *resource.Metadata)) map[string]func(ctx context.Context, st state.State) error {
		fn := func(r resource.Resource) error {
			edit(r.Metadata())

			return nil
		}

		return map[string]func(ctx context.Context, st state.State) error{
			"update": func(ctx context.Context, st state.State) error {
				r, err := st.Get(ctx, ptr)
				if err != nil {
					return err
				}

				r = r.DeepCopy()
				edit(r.Metadata())

				return st.Update(ctx, r, state.WithOwner(owner))
			},
			"modify": func(ctx context.Context, st state.State) error {
				_, err := st.Modify(ctx, resource.New[outSpec]("", "x"), fn, state.WithOwner(owner))

				return err
			},
			"update with conflicts": func(ctx context.Context, st state.State) error {
				_, err := st.UpdateWithConflicts(ctx, ptr, fn, state.WithOwner(owner))

				return err
			},
		}
	}

	type edit = func(md *resource.Metadata)

	calls := map[string]struct {
		try     func(ctx context.Context, st state.State) error
		allowed bool
	}{}

	for name, tt := range map[string]struct {
		edit    edit
		allowed bool
	}{
		"hold":                         {func(md *resource.Metadata) { md.AddFinalizer("Guest") }, true},
		"hold in another's name":       {func(md *resource.Metadata) { md.AddFinalizer("Anybody") }, false},
		"take away another's":          {func(md *resource.Metadata) { md.RemoveFinalizer("Host") }, false},
		"replace another's by its own": {func(md *resource.Metadata) { md.AddFinalizer("Guest"); md.RemoveFinalizer("Host") }, false},
	} {
		for call, try := range change(out, "Guest", tt.edit) {
			calls["output, "+name+" by "+call] = struct {
				try     func(ctx context.Context, st state.State) error
				allowed bool
			}{try, tt.allowed}
		}

		calls["input, "+name+" by update"] = struct {
			try     func(ctx context.Context, st state.State) error
			allowed bool
		}{change(in, "HostController", tt.edit)["update"], tt.allowed}
	}

	for name, tt := range map[string]struct {
		try     func(ctx context.Context, st state.State) error
		allowed bool
	}{
		"add":              {func(ctx context.Context, st state.State) error { return st.AddFinalizer(ctx, in, "Guest") }, true},
		"add another's":    {func(ctx context.Context, st state.State) error { return st.AddFinalizer(ctx, in, "Anybody") }, false},
		"add both":         {func(ctx context.Context, st state.State) error { return st.AddFinalizer(ctx, in, "Guest", "Anybody") }, false},
		"remove":           {func(ctx context.Context, st state.State) error { return st.RemoveFinalizer(ctx, in, "Guest") }, true},
		"remove another's": {func(ctx context.Context, st state.State) error { return st.RemoveFinalizer(ctx, in, "Host") }, false},
		"create with another's finalizer": {func(ctx context.Context, st state.State) error {
			r := resource.New[outSpec]("", "new")
			r.Metadata().AddFinalizer("Anybody")

			return st.Create(ctx, r, mine)
		}, false},
		"modify a new resource with another's finalizer": {func(ctx context.Context, st state.State) error {
			r := resource.New[outSpec]("", "new")
			r.Metadata().AddFinalizer("Anybody")
			_, err := st.Modify(ctx, r, func(resource.Resource) error { return nil }, mine)

			return err
		}, false},
		"change an input in its owner's name": {func(ctx context.Context, st state.State) error {
			r, err := st.Get(ctx, in)
			if err != nil {
				return err
			}

			r = r.DeepCopy()
			r.Metadata().AddFinalizer("Guest")
			r.Metadata().SetLabel("a", "b")

			return st.Update(ctx, r, state.WithOwner("HostController"))
		}, false},
	} {
		calls[name] = tt
	}

	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			ctx, mem := t.Context(), memory.New()

			for ptr, owner := range map[resource.Resource]string{resource.New[inSpec]("", "x"): "HostController", resource.New[outSpec]("", "x"): "Guest"} {
				ptr.Metadata().AddFinalizer("Host")

				if err := mem.Create(ctx, ptr, state.WithOwner(owner)); err != nil {
					t.Fatal(err)
				}
			}

			d, err := access.Declare("Guest", []controller.Input{controller.In[inSpec](controller.Strong, "")},
				[]controller.Output{controller.Out[outSpec](controller.Exclusive)})
			if err != nil {
				t.Fatal(err)
			}

			err = tt.try(ctx, access.AsController(mem, d))
			if tt.allowed && err != nil || !tt.allowed && state.ClassOf(err) != state.AccessDenied && !state.IsOwnerConflict(err) {
				t.Errorf("got %v, want allowed=%t", err, tt.allowed)
			}

			for _, ptr := range []resource.Pointer{in, out} {
				if r, err := mem.Get(ctx, ptr); err != nil || !r.Metadata().HasFinalizer("Host") || r.Metadata().HasFinalizer("Anybody") || r.Metadata().Labels().Len() > 0 {
					t.Errorf("after it: got %v, %v with finalizers %v", r, err, r.Metadata().Finalizers())
				}
			}
		})
	}
}

// TestStaleUpdate: an update of an old version is a conflict, which the caller may retry, also when finalizers have changed.
func TestStaleUpdate(t *testing.T) {
	ctx, mem := t.Context(), memory.New()

	d, err := access.Declare("Guest", nil, []controller.Output{controller.Out[outSpec](controller.Exclusive)})
	if err != nil {
		t.Fatal(err)
	}

	st := access.AsController(mem, d)
	r := resource.New[outSpec]("", "x")

	if err := st.Create(ctx, r, state.WithOwner("Guest")); err != nil {
		t.Fatal(err)
	}

	if err := mem.AddFinalizer(ctx, r.Metadata().Pointer(), "Host"); err != nil {
		t.Fatal(err)
	}

	r.TypedSpec().Value = "x"

	if err := st.Update(ctx, r, state.WithOwner("Guest")); state.ClassOf(err) != state.VersionConflict {
		t.Errorf("got %v, want a version conflict", err)
	}
}
