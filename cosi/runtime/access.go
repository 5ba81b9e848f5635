// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// access is the state as one controller may use it.
type access struct {
	state  state.State
	who    string
	writes []controller.Output
	inputs atomic.Pointer[[]controller.Input]
	owner  state.WriteOption
	counts counts
}

func newAccess(st state.State, name string, inputs []controller.Input, outputs []controller.Output) (*access, error) {
	a := &access{state: st, who: name, writes: slices.Clone(outputs), owner: state.WithOwner(name)}

	return a, a.setInputs(inputs)
}

func (a *access) setInputs(inputs []controller.Input) error {
	type place struct{ namespace, typ, id string }

	seen := map[place]bool{}

	for _, in := range inputs {
		p := place{in.Namespace, in.Type, in.ID}
		if seen[p] {
			return fmt.Errorf("input %s %q is declared twice", kindOf(in), in.ID)
		}

		seen[p] = true
	}

	inputs = slices.Clone(inputs)
	a.inputs.Store(&inputs)

	return nil
}

func (a *access) denied(op string, ptr resource.Pointer, why string) error {
	return state.NewError(state.AccessDenied, op, ptr, "controller %q %s", a.who, why)
}

// mayRead checks a read of one resource, or of the kind if the id is empty and whole is set.
func (a *access) mayRead(op string, ptr resource.Pointer, whole bool) error {
	a.counts.reads.Add(1)

	if a.isOutput(ptr.Type) {
		return nil
	}

	for _, in := range *a.inputs.Load() {
		if in.Type == ptr.Type && in.Namespace == ptr.Namespace && (in.ID == "" || !whole && in.ID == ptr.ID) {
			return nil
		}
	}

	return a.denied(op, ptr, "has not declared it as an input")
}

func (a *access) isOutput(typ string) bool {
	return slices.ContainsFunc(a.writes, func(o controller.Output) bool { return o.Type == typ })
}

func (a *access) mayWrite(op string, ptr resource.Pointer) error {
	a.counts.writes.Add(1)

	if a.isOutput(ptr.Type) {
		return nil
	}

	return a.denied(op, ptr, "has not declared it as an output")
}

func (a *access) mayHold(op string, ptr resource.Pointer) error {
	a.counts.writes.Add(1)

	for _, in := range *a.inputs.Load() {
		holds := in.Kind == controller.Strong || in.Kind == controller.Primary || in.Kind == controller.Mapped
		if holds && in.Type == ptr.Type && in.Namespace == ptr.Namespace && (in.ID == "" || in.ID == ptr.ID) {
			return nil
		}
	}

	return a.denied(op, ptr, "has not declared it as a strong input")
}

// Get implements state.Reader.
func (a *access) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	if err := a.mayRead("get", ptr, false); err != nil {
		return nil, err
	}

	return a.state.Get(ctx, ptr, opts...)
}

// List implements state.Reader.
func (a *access) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	if err := a.mayRead("list", resource.Pointer{Namespace: kind.Namespace, Type: kind.Type}, true); err != nil {
		return nil, err
	}

	return a.state.List(ctx, kind, opts...)
}

// Create implements controller.Access.
func (a *access) Create(ctx context.Context, r resource.Resource) error {
	if err := a.mayWrite("create", r.Metadata().Pointer()); err != nil {
		return err
	}

	return a.state.Create(ctx, r, a.owner)
}

// Update implements controller.Access.
func (a *access) Update(ctx context.Context, r resource.Resource) error {
	if err := a.mayWrite("update", r.Metadata().Pointer()); err != nil {
		return err
	}

	return a.state.Update(ctx, r, a.owner)
}

// Modify implements controller.Access.
func (a *access) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	ptr := empty.Metadata().Pointer()

	if err := a.mayWrite("modify", ptr); err != nil {
		return nil, err
	}

	opts = append(slices.Clip(opts), a.owner)

	r, err := a.state.Modify(ctx, empty, fn, opts...)
	if !state.IsPhaseConflict(err) {
		return r, err
	}

	cur, getErr := a.state.Get(ctx, ptr)
	if getErr != nil || cur.Metadata().Phase() != resource.PhaseTearingDown || len(cur.Metadata().Finalizers()) > 0 {
		return r, err
	}

	if err := a.state.Destroy(ctx, ptr, a.owner); err != nil && !state.IsNotFound(err) {
		return nil, err
	}

	return a.state.Modify(ctx, empty, fn, opts...)
}

// Teardown implements controller.Access.
func (a *access) Teardown(ctx context.Context, ptr resource.Pointer) (bool, error) {
	if err := a.mayWrite("teardown", ptr); err != nil {
		return false, err
	}

	return a.state.Teardown(ctx, ptr, a.owner)
}

// Destroy implements controller.Access.
func (a *access) Destroy(ctx context.Context, ptr resource.Pointer) error {
	if err := a.mayWrite("destroy", ptr); err != nil {
		return err
	}

	return a.state.Destroy(ctx, ptr, a.owner)
}

// AddFinalizer implements controller.Access.
func (a *access) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := a.mayHold("add finalizer", ptr); err != nil {
		return err
	}

	return a.state.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements controller.Access.
func (a *access) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := a.mayHold("remove finalizer", ptr); err != nil {
		return err
	}

	if err := a.state.RemoveFinalizer(ctx, ptr, finalizers...); err != nil && !state.IsNotFound(err) {
		return err
	}

	return nil
}
