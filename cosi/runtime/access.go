// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"slices"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// NewAccess returns the state as a controller with these inputs and outputs may use it. It is for tests and tools that
// call functions of a controller without a runtime.
func NewAccess(st state.State, name string, inputs []controller.Input, outputs []controller.Output) (controller.Access, error) {
	return newDeclared(st, name, inputs, outputs)
}

// declared is the state as one controller may use it.
type declared struct {
	*access.Declaration

	state  state.State
	owner  state.WriteOption
	counts counts
	kinds  writtenKinds
}

func newDeclared(st state.State, name string, inputs []controller.Input, outputs []controller.Output) (*declared, error) {
	d, err := access.Declare(name, inputs, outputs)
	if err != nil {
		return nil, err
	}

	return &declared{Declaration: d, state: st, owner: state.WithOwner(name)}, nil
}

func (a *declared) mayRead(op string, ptr resource.Pointer, kind bool) error {
	a.counts.reads.Add(1)

	return a.MayRead(op, ptr, kind)
}

func (a *declared) mayWrite(op string, ptr resource.Pointer) error {
	a.counts.writes.Add(1)

	if err := a.MayWrite(op, ptr); err != nil {
		return err
	}

	a.kinds.add(ptr.Kind())

	return nil
}

func (a *declared) mayHold(op string, ptr resource.Pointer) error {
	a.counts.writes.Add(1)

	return a.MayHold(op, ptr)
}

// Get implements state.Reader.
func (a *declared) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	if err := a.mayRead("get", ptr, false); err != nil {
		return nil, err
	}

	return a.state.Get(ctx, ptr, opts...)
}

// List implements state.Reader.
func (a *declared) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	if err := a.mayRead("list", kind.Pointer(""), true); err != nil {
		return nil, err
	}

	return a.state.List(ctx, kind, opts...)
}

// ContextWithTeardown implements controller.Access.
func (a *declared) ContextWithTeardown(ctx context.Context, ptr resource.Pointer) (context.Context, context.CancelFunc, error) {
	if err := a.mayRead("watch", ptr, false); err != nil {
		return nil, nil, err
	}

	return contextWithTeardown(ctx, a.state, ptr)
}

// Create implements controller.Access.
func (a *declared) Create(ctx context.Context, r resource.Resource) error {
	if err := a.mayWrite("create", r.Metadata().Pointer()); err != nil {
		return err
	}

	return a.state.Create(ctx, r, a.owner)
}

// Update implements controller.Access.
func (a *declared) Update(ctx context.Context, r resource.Resource) error {
	if err := a.mayWrite("update", r.Metadata().Pointer()); err != nil {
		return err
	}

	return a.state.Update(ctx, r, a.owner)
}

// Modify implements controller.Access.
func (a *declared) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
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
func (a *declared) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (bool, error) {
	if err := a.mayWrite("teardown", ptr); err != nil {
		return false, err
	}

	return a.state.Teardown(ctx, ptr, append(slices.Clip(opts), a.owner)...)
}

// Destroy implements controller.Access.
func (a *declared) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	if err := a.mayWrite("destroy", ptr); err != nil {
		return err
	}

	return a.state.Destroy(ctx, ptr, append(slices.Clip(opts), a.owner)...)
}

// AddFinalizer implements controller.Access.
func (a *declared) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := a.mayHold("add finalizer", ptr); err != nil {
		return err
	}

	return a.state.AddFinalizer(ctx, ptr, finalizers...)
}

// RemoveFinalizer implements controller.Access.
func (a *declared) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	if err := a.mayHold("remove finalizer", ptr); err != nil {
		return err
	}

	if err := a.state.RemoveFinalizer(ctx, ptr, finalizers...); err != nil && !state.IsNotFound(err) {
		return err
	}

	return nil
}
