// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// AsController returns the state as one controller may use it. The controller reads its inputs and outputs. It writes its
// outputs, and only as their owner. On its strong inputs it may add and remove one finalizer: its own name. It cannot
// change the finalizers of others, on its outputs neither. AsController is for controllers in another process, which are
// not trusted to keep to their declaration: give the server (server.NewFor) this state for the identity of the connection.
func AsController(st state.State, d *Declaration) state.State {
	return &asController{State: New(st, d.rule), st: st, d: d}
}

// rule checks the address and the owner.
func (d *Declaration) rule(_ context.Context, a Attempt) error {
	if !a.Verb.Writes() {
		return d.MayRead(a.Op, a.Pointer, a.Verb == List || a.Verb == Watch && a.ID == "")
	}

	return cmp.Or(d.own(a.Op, a.Pointer, a.Options), d.MayWrite(a.Verb.String(), a.Pointer))
}

// own refuses a write as another owner.
func (d *Declaration) own(op string, ptr resource.Pointer, opts []state.WriteOption) error {
	if o := state.NewWriteOptions(opts...); o.Owner != d.name {
		return state.NewError(state.OwnerConflict, op, ptr, "controller %q writes as %q", d.name, o.Owner)
	}

	return nil
}

type asController struct {
	state.State // behind the rule

	st state.State
	d  *Declaration
}

// Create implements state.State.
func (c *asController) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	if err := c.holdsOnlyItself("create", r.Metadata().Pointer(), nil, r.Metadata().Finalizers()); err != nil {
		return err
	}

	return c.State.Create(ctx, r, opts...)
}

// Update implements state.State. Over the wire, a change of finalizers is also an update, as the owner of the resource.
func (c *asController) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	ptr := r.Metadata().Pointer()
	holds := c.d.MayHold("update", ptr) == nil

	if !holds {
		if err := cmp.Or(c.d.own("update", ptr, opts), c.d.MayWrite("update", ptr)); err != nil {
			return err
		}
	}

	cur, err := c.st.Get(ctx, ptr)
	if err != nil {
		return err
	}

	if have, is := r.Metadata().VersionString(), cur.Metadata().VersionString(); have != is {
		return state.NewError(state.VersionConflict, "update", ptr, "version is %s, not %s", is, have)
	}

	if err := c.holdsOnlyItself("update", ptr, cur.Metadata().Finalizers(), r.Metadata().Finalizers()); err != nil {
		return err
	}

	if holds && onlyFinalizers(cur, r) {
		return c.st.Update(ctx, r, opts...)
	}

	return c.State.Update(ctx, r, opts...)
}

// holdsOnlyItself refuses a change of finalizers other than the controller's own.
func (c *asController) holdsOnlyItself(op string, ptr resource.Pointer, before, after []string) error {
	for _, f := range slices.Concat(before, after) {
		if f != c.d.name && slices.Contains(before, f) != slices.Contains(after, f) {
			return c.d.denied(op, ptr, fmt.Sprintf("may hold only in its own name, not %q", f))
		}
	}

	return nil
}

// guard makes fn fail when it changes the finalizers of others.
func (c *asController) guard(op string, fn func(resource.Resource) error) func(resource.Resource) error {
	return func(r resource.Resource) error {
		before := slices.Clone(r.Metadata().Finalizers())

		if err := fn(r); err != nil {
			return err
		}

		return c.holdsOnlyItself(op, r.Metadata().Pointer(), before, r.Metadata().Finalizers())
	}
}

// onlyFinalizers reports whether two versions differ in nothing but finalizers.
func onlyFinalizers(cur, next resource.Resource) bool {
	md := next.Metadata().Copy()
	md.RemoveFinalizer(next.Metadata().Finalizers()...)
	md.AddFinalizer(cur.Metadata().Finalizers()...)

	return md.Equal(cur.Metadata()) && resource.EqualSpec(cur, next)
}

// Modify implements state.State.
func (c *asController) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	if err := c.holdsOnlyItself("modify", empty.Metadata().Pointer(), nil, empty.Metadata().Finalizers()); err != nil {
		return nil, err
	}

	return c.State.Modify(ctx, empty, c.guard("modify", fn), opts...)
}

// UpdateWithConflicts implements state.State.
func (c *asController) UpdateWithConflicts(ctx context.Context, ptr resource.Pointer, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	return c.State.UpdateWithConflicts(ctx, ptr, c.guard("modify", fn), opts...)
}

// AddFinalizer implements state.State.
func (c *asController) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := c.mayHold("add finalizer", ptr, finalizers); err != nil {
		return err
	}

	return c.st.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements state.State.
func (c *asController) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := c.mayHold("remove finalizer", ptr, finalizers); err != nil {
		return err
	}

	return c.st.RemoveFinalizer(ctx, ptr, finalizers...)
}

func (c *asController) mayHold(op string, ptr resource.Pointer, finalizers []string) error {
	return cmp.Or(c.d.MayHold(op, ptr), c.holdsOnlyItself(op, ptr, nil, finalizers))
}
