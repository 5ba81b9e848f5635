// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Queue is Map as a queue controller: it reconciles single inputs, several at a time, and keeps a finalizer on each input
// until its output is destroyed. Input must be the inverse function of ID. An input for which it is not fails, so two inputs
// never share an output.
type Queue[In, Out resource.Spec] struct {
	Name string
	// InNamespace and OutNamespace are those of the definitions when empty.
	InNamespace, OutNamespace string
	// ID returns the id of the output of an input. The default is the same id.
	ID func(inputID string) string
	// Input returns the id of the input of an output. The default is the same id.
	Input func(outputID string) string
	// Extra inputs, of the kind Mapped or MappedDestroyReady, each with its mapping to inputs.
	Extra []controller.MappedInput
	// Writes is Shared if other controllers write outputs of the type.
	Writes      controller.OutputKind
	Concurrency int
	// KeepUntil keeps the output of an input that is tearing down as long as the input has finalizers other than these and the
	// controller's own. Nil does not wait.
	KeepUntil []string
	// KeepWhile keeps the output of an input that is tearing down as long as the input has any of these finalizers.
	KeepWhile []string
	// Transform fills out from in; see Map. It may return controller.Requeue.
	Transform func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In], out *Out) error
	// Label, if set, changes the output's labels and annotations.
	Label func(in *resource.Typed[In], md *resource.Metadata)
	// Release, if set, is called after the output of an input is destroyed and before the finalizer is removed. An error keeps
	// the finalizer.
	Release func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In]) error
}

// Controller returns the controller.
func (q Queue[In, Out]) Controller() controller.QueueController {
	same := func(id string) string { return id }

	if q.ID == nil {
		q.ID = same
	}

	if q.Input == nil {
		q.Input = same
	}

	return &queueController[In, Out]{q}
}

type queueController[In, Out resource.Spec] struct{ q Queue[In, Out] }

func (c *queueController[In, Out]) Name() string { return c.q.Name }

func (c *queueController[In, Out]) Settings() controller.QueueSettings {
	inputs := []controller.Input{
		controller.In[In](controller.Primary, c.q.InNamespace),
		controller.In[Out](controller.MappedDestroyReady, c.q.OutNamespace),
	}

	for _, m := range c.q.Extra {
		inputs = append(inputs, m.Input)
	}

	return controller.QueueSettings{
		Inputs: inputs, Concurrency: c.q.Concurrency,
		Outputs: []controller.Output{controller.Out[Out](c.q.Writes, resource.KindOf[Out](c.q.OutNamespace).Namespace)},
	}
}

func (c *queueController[In, Out]) MapInput(ctx context.Context, rt controller.Access, _ *slog.Logger, changed controller.Changed) ([]resource.Pointer, error) {
	if changed.Kind() == resource.KindOf[Out](c.q.OutNamespace) {
		return []resource.Pointer{resource.PointerOf[In](c.q.InNamespace, c.q.Input(changed.ID))}, nil
	}

	return controller.MapInputs(ctx, rt, c.q.Extra, resource.KindOf[In](c.q.InNamespace), changed)
}

func (c *queueController[In, Out]) Reconcile(ctx context.Context, rt controller.Access, log *slog.Logger, ptr resource.Pointer) error {
	if out := c.q.ID(ptr.ID); c.q.Input(out) != ptr.ID {
		return fmt.Errorf("%s: its output %q is that of %q", ptr, out, c.q.Input(out))
	}

	in, err := typed.Find[In](ctx, rt, ptr.Namespace, ptr.ID)
	if err != nil {
		return err
	}

	if in == nil { // destroyed in spite of our finalizer
		_, err := c.discard(ctx, rt, ptr.ID)

		return err
	}

	if in.Metadata().Phase() == resource.PhaseTearingDown && !c.keeps(in.Metadata()) {
		return c.leave(ctx, rt, log, in)
	}

	return c.follow(ctx, rt, log, in)
}

// keeps reports whether the output of an input that is tearing down is kept for now.
func (c *queueController[In, Out]) keeps(md *resource.Metadata) bool {
	return slices.ContainsFunc(md.Finalizers(), func(f string) bool {
		return slices.Contains(c.q.KeepWhile, f) ||
			c.q.KeepUntil != nil && f != c.q.Name && !slices.Contains(c.q.KeepUntil, f)
	})
}

// follow updates the output.
func (c *queueController[In, Out]) follow(ctx context.Context, rt controller.Access, log *slog.Logger, in *resource.Typed[In]) error {
	md := in.Metadata()

	if md.Phase() == resource.PhaseRunning && !md.HasFinalizer(c.q.Name) {
		if err := rt.AddFinalizer(ctx, md.Pointer(), c.q.Name); err != nil {
			return err
		}
	}

	var (
		out     Out
		requeue *controller.RequeueError
	)

	again := c.q.Transform(ctx, rt, log, in, &out)

	switch {
	case errors.Is(again, ErrNoOutput):
		_, err := c.discard(ctx, rt, md.ID())

		return err
	case errors.As(again, &requeue) && requeue.Err == nil: // the output is valid for a limited time
	case again != nil:
		return again
	}

	err := typed.ModifyResource(ctx, rt, c.q.OutNamespace, c.q.ID(md.ID()), func(r *resource.Typed[Out]) error {
		fill(r, out, in, c.q.Label)

		return nil
	})

	// The output is tearing down and has finalizers. When they are removed, it arrives as a mapped input.
	if err != nil && !state.IsPhaseConflict(err) {
		return err
	}

	return again
}

// leave destroys the output, and then removes the finalizer from the input.
func (c *queueController[In, Out]) leave(ctx context.Context, rt controller.Access, log *slog.Logger, in *resource.Typed[In]) error {
	if !in.Metadata().HasFinalizer(c.q.Name) {
		return nil
	}

	gone, err := c.discard(ctx, rt, in.Metadata().ID())
	if err != nil || !gone {
		return err
	}

	if c.q.Release != nil {
		if err := c.q.Release(ctx, rt, log, in); err != nil {
			return err
		}
	}

	return rt.RemoveFinalizer(ctx, in.Metadata().Pointer(), c.q.Name)
}

// discard destroys the output of an input if it has no finalizers.
func (c *queueController[In, Out]) discard(ctx context.Context, rt controller.Access, inputID string) (gone bool, err error) {
	out, err := typed.Find[Out](ctx, rt, c.q.OutNamespace, c.q.ID(inputID))
	if err != nil || out == nil || out.Metadata().Owner() != c.q.Name {
		return err == nil, err
	}

	ready, err := rt.Teardown(ctx, out.Metadata().Pointer())
	if err != nil || !ready {
		return state.IsNotFound(err), ignoreNotFound(err)
	}

	return true, ignoreNotFound(rt.Destroy(ctx, out.Metadata().Pointer()))
}

func ignoreNotFound(err error) error {
	if state.IsNotFound(err) {
		return nil
	}

	return err
}
