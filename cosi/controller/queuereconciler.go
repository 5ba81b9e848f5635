// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// QueueReconciler is the usual queue controller: functions that are called for one resource of the primary input at a time.
type QueueReconciler[S resource.Spec] struct {
	ControllerName string
	// Namespace of the primary input, and its ID if it is a single resource. An empty namespace means that of the
	// definition.
	Namespace, ID string
	// Mapped are the other inputs.
	Mapped []MappedInput
	Writes []Output
	// Concurrency is how many resources are worked on at a time; zero is one.
	Concurrency int
	// Reconcile updates everything that depends on a resource; see QueueController for its errors.
	Reconcile func(ctx context.Context, rt Access, log *slog.Logger, r *resource.Typed[S]) error
	// Gone, if set, is called when a resource does not exist any more. A controller that must clean up after a resource adds
	// a finalizer to it, and then sees the resource torn down first.
	Gone func(ctx context.Context, rt Access, log *slog.Logger, id string) error
}

// Controller returns the controller.
func (q QueueReconciler[S]) Controller() QueueController { return &queueReconciler[S]{q} }

type queueReconciler[S resource.Spec] struct{ q QueueReconciler[S] }

// Name implements QueueController.
func (c *queueReconciler[S]) Name() string { return c.q.ControllerName }

// Settings implements QueueController.
func (c *queueReconciler[S]) Settings() QueueSettings {
	inputs := []Input{In[S](Primary, c.q.Namespace, c.q.ID)}

	for _, m := range c.q.Mapped {
		inputs = append(inputs, m.Input)
	}

	return QueueSettings{Inputs: inputs, Outputs: c.q.Writes, Concurrency: c.q.Concurrency}
}

// Reconcile implements QueueController.
func (c *queueReconciler[S]) Reconcile(ctx context.Context, rt Access, log *slog.Logger, ptr resource.Pointer) error {
	if c.q.ID != "" && ptr.ID != c.q.ID {
		return nil
	}

	r, err := typed.Find[S](ctx, rt, ptr.Namespace, ptr.ID)

	switch {
	case err != nil:
		return err
	case r != nil:
		return c.q.Reconcile(ctx, rt, log, r)
	case c.q.Gone != nil:
		return c.q.Gone(ctx, rt, log, ptr.ID)
	default:
		return nil
	}
}

// MapInput implements Mapper.
func (c *queueReconciler[S]) MapInput(ctx context.Context, rt Access, _ *slog.Logger, changed Changed) ([]resource.Pointer, error) {
	return MapInputs(ctx, rt, c.q.Mapped, resource.KindOf[S](c.q.Namespace), changed)
}
