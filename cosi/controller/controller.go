// SPDX-License-Identifier: Apache-2.0

// Package controller is the contract between controllers and the runtime that runs them (package runtime). A controller
// declares what it reads and what it owns. The runtime wakes it when an input changes, refuses any access that was not
// declared, and restarts it with backoff when it fails.
package controller

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Controller is a long-running loop over its inputs. Most controllers are a Reconciler or use package transform. A Run of
// its own is for a controller that also watches the kernel, a file or a process.
type Controller interface {
	// Name is unique, domain.NameController; it is the owner of what the controller writes.
	Name() string
	Inputs() []Input
	Outputs() []Output
	// Run returns when its context ends. After an error or a panic the runtime runs it again with backoff. When it returns
	// nil before the context ends, it never runs again; a controller with inputs must not do that.
	Run(ctx context.Context, rt Runtime, log *slog.Logger) error
}

// InputKind selects the changes that wake the controller, and whether it may add finalizers.
type InputKind uint8

// The input kinds.
const (
	// Weak wakes on any change.
	Weak InputKind = iota
	// Strong wakes on any change and lets the controller add its finalizer.
	Strong
	// DestroyReady wakes when a resource is tearing down and has no finalizers.
	DestroyReady
	// Primary is for queue controllers: the resource itself is queued. The controller may add its finalizer.
	Primary
	// Mapped is for queue controllers: the resource is mapped to primary ones. The controller may add its finalizer.
	Mapped
	// MappedDestroyReady is Mapped for a resource that is tearing down and has no finalizers.
	MappedDestroyReady
)

// Input is what a controller reads. An empty ID means the whole kind.
type Input struct {
	Namespace string
	Type      string
	ID        string
	Kind      InputKind
}

// OutputKind decides whether other controllers may write the same type.
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

// Access is the state as one controller may use it. A read needs a matching input or output, a write needs an output, and
// a change of finalizers needs a strong input. The controller is the owner in all writes.
type Access interface {
	state.Reader

	Create(ctx context.Context, r resource.Resource) error
	Update(ctx context.Context, r resource.Resource) error
	// Modify creates or updates. An output that is tearing down and has no finalizers is destroyed and created again. If
	// it still has finalizers, Modify returns a phase conflict, and the controller is woken when they are removed.
	Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error)
	Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (ready bool, err error)
	Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error
	AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// RemoveFinalizer of a missing resource succeeds.
	RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error
	// ContextWithTeardown returns a context that ends, with the cause ErrTeardown, when the resource is torn down or
	// destroyed. It is for long work on a resource that may be torn down during the work. The caller cancels it at the end.
	ContextWithTeardown(ctx context.Context, ptr resource.Pointer) (context.Context, context.CancelFunc, error)
}

// ErrTeardown is the cause of the end of a context of ContextWithTeardown.
var ErrTeardown = errors.New("torn down")

// Runtime is the interface of a running controller to its runtime.
type Runtime interface {
	Access

	// Events delivers a wake-up when an input changed or a reconcile was queued. Several may be merged into one. The first
	// one comes at the start.
	Events() <-chan struct{}
	// Observe runs one round of the controller's work and reports it to the observers of the runtime, which measure and
	// trace it. A Reconciler does so by itself.
	Observe(ctx context.Context, round func(ctx context.Context) error) error
	// QueueReconcile wakes the controller itself.
	QueueReconcile()
	// UpdateInputs replaces the inputs.
	UpdateInputs(inputs []Input) error
	// ResetRestartBackoff reports that the controller is healthy.
	ResetRestartBackoff()

	// StartTrackingOutputs begins to record the outputs that are written.
	StartTrackingOutputs()
	// CleanupOutputs tears down and destroys the controller's resources of the kinds that were not written since
	// StartTrackingOutputs. One with finalizers is destroyed after they are removed: the runtime wakes the controller
	// then.
	CleanupOutputs(ctx context.Context, kinds ...resource.Kind) error
}

// In declares an input of S; an empty namespace means the definition's default; at most one id.
func In[S resource.Spec](kind InputKind, namespace string, id ...string) Input {
	return input(kind, resource.KindOf[S](namespace), id)
}

// input and output are not inlined, because they would be in functions that are compiled for each type.
//
//go:noinline
func input(kind InputKind, of resource.Kind, id []string) Input {
	in := Input{Namespace: of.Namespace, Type: of.Type, Kind: kind}

	if len(id) > 0 {
		in.ID = id[0]
	}

	return in
}

// Out declares an output of S, in any namespace unless one is given.
func Out[S resource.Spec](kind OutputKind, namespace ...string) Output {
	return output(kind, resource.DefinitionOf[S](), namespace)
}

//go:noinline
func output(kind OutputKind, of *resource.Definition, namespace []string) Output {
	out := Output{Type: of.Type, Kind: kind}

	if len(namespace) > 0 {
		out.Namespace = namespace[0]
	}

	return out
}
