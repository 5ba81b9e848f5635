// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// AsController returns the state as one controller may use it: it reads its inputs and outputs, writes its outputs and
// only as their owner, and changes nothing but finalizers on its strong inputs. It is for controllers that one does not
// trust to keep to what they declared, because they run in another process: give the server (server.NewFor) this state
// for the identity of the connection.
func AsController(st state.State, d *Declaration) state.State {
	return &asController{guarded: &guarded{st: st, rule: d.rule}, d: d}
}

// rule covers what can be told by the address alone.
func (d *Declaration) rule(_ context.Context, a Attempt) error {
	ptr := resource.Pointer{Namespace: a.Namespace, Type: a.Type, ID: a.ID}

	switch a.Verb {
	case Get:
		return d.MayRead(a.Verb.String(), ptr, false)
	case List:
		return d.MayRead(a.Verb.String(), ptr, true)
	case Watch:
		return d.MayRead(a.Verb.String(), ptr, a.ID == "")
	default:
		return d.MayWrite(a.Verb.String(), ptr)
	}
}

type asController struct {
	*guarded

	d *Declaration
}

// own refuses a write in another name.
func (c *asController) own(op string, ptr resource.Pointer, opts []state.WriteOption) error {
	if o := state.NewWriteOptions(opts...); o.Owner != c.d.name {
		return state.NewError(state.OwnerConflict, op, ptr, "controller %q writes as %q", c.d.name, o.Owner)
	}

	return nil
}

// Create implements state.State.
func (c *asController) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	if err := c.own("create", r.Metadata().Pointer(), opts); err != nil {
		return err
	}

	return c.guarded.Create(ctx, r, opts...)
}

// Update implements state.State. Over the wire, a change of finalizers is an update, too.
func (c *asController) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	ptr := r.Metadata().Pointer()

	if c.d.MayHold("update", ptr) == nil {
		cur, err := c.st.Get(ctx, ptr)
		if err != nil {
			return err
		}

		if onlyFinalizers(cur, r) {
			return c.st.Update(ctx, r, opts...)
		}
	}

	if err := c.own("update", ptr, opts); err != nil {
		return err
	}

	return c.guarded.Update(ctx, r, opts...)
}

// onlyFinalizers tells whether two versions differ in nothing but finalizers. A version that is not the current one is
// refused by the update itself.
func onlyFinalizers(cur, next resource.Resource) bool {
	md := next.Metadata().Copy()
	for _, f := range next.Metadata().Finalizers() {
		md.RemoveFinalizer(f)
	}

	for _, f := range cur.Metadata().Finalizers() {
		md.AddFinalizer(f)
	}

	return md.Equal(cur.Metadata()) && resource.EqualSpec(cur, next)
}

// Modify implements state.State.
func (c *asController) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	if err := c.own("modify", empty.Metadata().Pointer(), opts); err != nil {
		return nil, err
	}

	return c.guarded.Modify(ctx, empty, fn, opts...)
}

// UpdateWithConflicts implements state.State.
func (c *asController) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	if err := c.own("modify", ptr, opts); err != nil {
		return nil, err
	}

	return c.guarded.UpdateWithConflicts(ctx, ptr, fn, opts...)
}

// Destroy implements state.State.
func (c *asController) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	if err := c.own("destroy", ptr, opts); err != nil {
		return err
	}

	return c.guarded.Destroy(ctx, ptr, opts...)
}

// Teardown implements state.State.
func (c *asController) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	if err := c.own("teardown", ptr, opts); err != nil {
		return false, err
	}

	return c.guarded.Teardown(ctx, ptr, opts...)
}

// TeardownAndDestroy implements state.State.
func (c *asController) TeardownAndDestroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	if err := c.own("teardown and destroy", ptr, opts); err != nil {
		return err
	}

	return c.guarded.TeardownAndDestroy(ctx, ptr, opts...)
}

// AddFinalizer implements state.State.
func (c *asController) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := c.d.MayHold("add finalizer", ptr); err != nil {
		return err
	}

	return c.st.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements state.State.
func (c *asController) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := c.d.MayHold("remove finalizer", ptr); err != nil {
		return err
	}

	return c.st.RemoveFinalizer(ctx, ptr, finalizers...)
}
