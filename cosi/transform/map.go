// SPDX-License-Identifier: Apache-2.0

// Package transform builds the most common controller from one pure function: for each input resource it computes one
// output resource.
//
//	transform.Map[MachineConfigSpec, HostnameSpec]{
//		Name: "network.HostnameConfigController",
//		Transform: func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[MachineConfigSpec], out *HostnameSpec) error {
//			if in.TypedSpec().Hostname == "" {
//				return transform.ErrNoOutput
//			}
//			out.Hostname = in.TypedSpec().Hostname
//			return nil
//		},
//	}.Controller()
//
// The function fills an empty output. The output is written only if it differs from the stored one, so other controllers are
// woken only by real changes. The output is destroyed when its input is destroyed or the function returns ErrNoOutput. After
// an error for one input, its output stays as it is, the other inputs are processed, and the controller runs again after a
// delay. With controller.ErrSkip, which is not a failure, the output also stays, and the next change tries again.
package transform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// ErrNoOutput means that an input has no output: an existing one is destroyed. Wrap it to give the reason. To leave the
// output as it is, return controller.ErrSkip.
var ErrNoOutput = errors.New("no output")

// Map describes a controller that keeps one Out for each In.
type Map[In, Out resource.Spec] struct {
	Name string
	// InNamespace and OutNamespace are those of the definitions when empty.
	InNamespace, OutNamespace string
	// InID restricts the inputs to one.
	InID string
	// ID returns the id of the output of an input, "" for no output. The default is the id of the input. When two inputs have
	// the same output, the first one by id gets it, and the controller fails for the other.
	ID func(in *resource.Typed[In]) string
	// Extra inputs that Transform reads.
	Extra []controller.Input
	// Writes is Shared if other controllers write outputs of the type.
	Writes controller.OutputKind
	// Hold adds a finalizer, the controller's name, to each input until its output is destroyed.
	Hold bool
	// Transform fills out from in. It may be called any number of times.
	Transform func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In], out *Out) error
	// Label, if set, changes the output's labels and annotations.
	Label func(in *resource.Typed[In], md *resource.Metadata)
	// Release, if set, is called with Hold after the output of an input is destroyed and before the finalizer is removed. An
	// error keeps the finalizer.
	Release func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In]) error
}

// Controller returns the controller.
func (m Map[In, Out]) Controller() controller.Controller {
	kind := controller.Weak
	if m.Hold {
		kind = controller.Strong
	}

	input := controller.In[In](kind, m.InNamespace)
	input.ID = m.InID

	return &controller.Reconciler{
		ControllerName: m.Name,
		Reads:          append([]controller.Input{input}, m.Extra...),
		Writes:         []controller.Output{controller.Out[Out](m.Writes, resource.KindOf[Out](m.OutNamespace).Namespace)},
		Reconcile:      m.reconcile,
	}
}

func (m *Map[In, Out]) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	rt.StartTrackingOutputs()

	inputs, err := m.inputs(ctx, rt)
	if err != nil {
		return err
	}

	var (
		failures []error
		leaving  []*resource.Typed[In]
		makers   = map[string]*resource.Typed[In]{} // by id of the output
	)

	for _, in := range inputs {
		if in.Metadata().Phase() == resource.PhaseTearingDown {
			leaving = append(leaving, in)

			continue
		}

		id := m.id(in)
		if id == "" {
			continue
		}

		if other := makers[id]; other != nil {
			failures = append(failures, fmt.Errorf("%s: its output %q is already that of %s", in, id, other))

			continue
		}

		makers[id] = in

		if err := m.one(ctx, rt, log, in, id); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", in, err))
		}
	}

	if err := rt.CleanupOutputs(ctx, resource.KindOf[Out](m.OutNamespace)); err != nil {
		return errors.Join(append(failures, err)...)
	}

	if m.Hold {
		for _, in := range leaving {
			if err := m.release(ctx, rt, log, in); err != nil {
				failures = append(failures, fmt.Errorf("%s: %w", in, err))
			}
		}
	}

	return errors.Join(failures...)
}

func (m *Map[In, Out]) inputs(ctx context.Context, rt controller.Runtime) ([]*resource.Typed[In], error) {
	if m.InID == "" {
		return typed.List[In](ctx, rt, m.InNamespace)
	}

	in, err := typed.Find[In](ctx, rt, m.InNamespace, m.InID)
	if in == nil || err != nil {
		return nil, err
	}

	return []*resource.Typed[In]{in}, nil
}

func (m *Map[In, Out]) id(in *resource.Typed[In]) string {
	if m.ID == nil {
		return in.Metadata().ID()
	}

	return m.ID(in)
}

// one updates the output of one input.
func (m *Map[In, Out]) one(ctx context.Context, rt controller.Runtime, log *slog.Logger, in *resource.Typed[In], id string) error {
	if m.Hold && !in.Metadata().HasFinalizer(m.Name) {
		if err := rt.AddFinalizer(ctx, in.Metadata().Pointer(), m.Name); err != nil {
			return err
		}
	}

	var out Out

	failure := m.Transform(ctx, rt, log, in, &out)
	if errors.Is(failure, ErrNoOutput) {
		return nil
	}

	err := typed.ModifyResource(ctx, rt, m.OutNamespace, id, func(r *resource.Typed[Out]) error {
		// Modify is called for a failed output too, so that the cleanup keeps it.
		if failure != nil {
			return failure
		}

		fill(r, out, in, m.Label)

		return nil
	})

	// The output is tearing down and has finalizers. The runtime wakes us when they are removed; then it is created again.
	if state.IsPhaseConflict(err) {
		return nil
	}

	if errors.Is(err, controller.ErrSkip) {
		log.Debug("skipped", "resource", in.String(), "reason", err)

		return nil
	}

	return err
}

// fill sets the spec of the output of an input, and its labels.
func fill[In, Out resource.Spec](r *resource.Typed[Out], out Out, in *resource.Typed[In], label func(*resource.Typed[In], *resource.Metadata)) {
	*r.TypedSpec() = out

	if label != nil {
		label(in, r.Metadata())
	}
}

// release removes the finalizer from an input whose output is destroyed.
func (m *Map[In, Out]) release(ctx context.Context, rt controller.Runtime, log *slog.Logger, in *resource.Typed[In]) error {
	if !in.Metadata().HasFinalizer(m.Name) {
		return nil
	}

	if id := m.id(in); id != "" {
		out, err := typed.Find[Out](ctx, rt, m.OutNamespace, id)
		if err != nil {
			return err
		}

		if out != nil && out.Metadata().Owner() == m.Name && out.Metadata().Phase() == resource.PhaseTearingDown {
			return nil
		}
	}

	if m.Release != nil {
		if err := m.Release(ctx, rt, log, in); err != nil {
			return err
		}
	}

	return rt.RemoveFinalizer(ctx, in.Metadata().Pointer(), m.Name)
}
