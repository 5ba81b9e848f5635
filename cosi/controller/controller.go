// SPDX-License-Identifier: Apache-2.0

// Package controller is the contract between controllers and the runtime that drives them (package
// runtime): a controller declares what it reads and what it owns, and the runtime wakes it when an input
// changes, refuses any access that was not declared, and restarts it with backoff when it fails.
package controller

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Controller is a long-running loop over its inputs. Most are written as a Reconciler or with package
// transform; Run is for those that also watch the kernel, a file or a process.
type Controller interface {
	// Name is unique, domain.NameController; it is the owner of what the controller writes.
	Name() string
	Inputs() []Input
	Outputs() []Output
	// Run returns when its context ends. An error or a panic restarts it with backoff; nil before that finishes it for
	// good, so one with inputs, which is to act again when they change, does not return nil.
	Run(ctx context.Context, rt Runtime, log *slog.Logger) error
}

// InputKind says which changes wake the controller and whether it may hold finalizers.
type InputKind uint8

// The input kinds; numbers are those of the dependency graph's.
const (
	// Weak wakes on any change.
	Weak InputKind = iota
	// Strong wakes on any change and lets the controller hold finalizers.
	Strong
	// DestroyReady wakes when a resource is tearing down and without finalizers.
	DestroyReady
	// Primary is of queue controllers: the resource itself is queued; its finalizers may be held.
	Primary
	// Mapped is of queue controllers: the resource is mapped to primary ones; its finalizers may be held.
	Mapped
	// MappedDestroyReady is Mapped when a resource is tearing down and without finalizers.
	MappedDestroyReady
)

// Input is what a controller reads. An empty ID means the whole kind.
type Input struct {
	Namespace string
	Type      string
	ID        string
	Kind      InputKind
}

// OutputKind says whether other controllers may write the same type.
type OutputKind uint8

// The output kinds.
const (
	Exclusive OutputKind = iota
	Shared
)

// Output is a type that the controller writes. An empty namespace means any.
type Output struct {
	Type      string
	Kind      OutputKind
	Namespace string
}

// Access is the state as one controller may use it. Reads need a matching input or output, writes an output,
// finalizers a strong input; the owner of all writes is the controller.
type Access interface {
	state.Reader

	Create(ctx context.Context, r resource.Resource) error
	Update(ctx context.Context, r resource.Resource) error
	// Modify creates or updates. An output that is being torn down and free of finalizers is destroyed and
	// created again; one that is not yet free is a phase conflict, and the controller is woken when it is free.
	Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error)
	Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (ready bool, err error)
	Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error
	AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// RemoveFinalizer of a missing resource succeeds.
	RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// ContextWithTeardown returns a context that ends, with the cause ErrTeardown, when the resource is torn down or is
	// gone. It is for long work on a resource that somebody may want to go meanwhile. The caller cancels it at the end.
	ContextWithTeardown(ctx context.Context, ptr resource.Pointer) (context.Context, context.CancelFunc, error)
}

// ErrTeardown is the cause of the end of a context of ContextWithTeardown.
var ErrTeardown = errors.New("torn down")

// Runtime is what a running controller sees.
type Runtime interface {
	Access

	// Events delivers a wake-up, coalesced, when an input changed or a reconcile was queued. The first
	// one comes at start.
	Events() <-chan struct{}
	// Observe runs one round of the controller's work before the observers of the runtime, which measure and trace it.
	// A Reconciler does so by itself.
	Observe(ctx context.Context, round func(ctx context.Context) error) error
	// QueueReconcile wakes the controller itself.
	QueueReconcile()
	// UpdateInputs replaces the inputs.
	UpdateInputs(inputs []Input) error
	// ResetRestartBackoff reports that the controller is healthy.
	ResetRestartBackoff()

	// StartTrackingOutputs begins to note every output written.
	StartTrackingOutputs()
	// CleanupOutputs tears down and destroys own resources of the kinds that were not written since
	// StartTrackingOutputs; one still held by finalizers is destroyed when they are gone (the runtime
	// wakes the controller then).
	CleanupOutputs(ctx context.Context, kinds ...resource.Kind) error
}

// In declares an input of S; an empty namespace means the definition's default; at most one id.
func In[S resource.Spec](kind InputKind, namespace string, id ...string) Input {
	k := resource.KindOf[S](namespace)
	in := Input{Namespace: k.Namespace, Type: k.Type, Kind: kind}

	if len(id) > 0 {
		in.ID = id[0]
	}

	return in
}

// Out declares an output of S, in any namespace unless one is given.
func Out[S resource.Spec](kind OutputKind, namespace ...string) Output {
	out := Output{Type: resource.DefinitionOf[S]().Type, Kind: kind}

	if len(namespace) > 0 {
		out.Namespace = namespace[0]
	}

	return out
}
