// SPDX-License-Identifier: Apache-2.0

// Package transform makes the common controller out of one pure function: for each input resource, one output
// resource computed from it.
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
// The function fills an empty output. An output is written only when it differs from what is there, so a change that
// changes nothing ends here. It is destroyed when its input goes or when the function returns ErrNoOutput. An error of
// one input leaves its output as it is and does not stop the others; the controller runs again after a delay. So does
// controller.ErrSkip, which is no failure: the next change tries again.
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

// ErrNoOutput says that an input has no output: one that is there is destroyed. Wrap it to say why. To leave the output
// as it is, return controller.ErrSkip.
var ErrNoOutput = errors.New("no output")

// Map describes a controller that keeps one Out for each In.
type Map[In, Out resource.Spec] struct {
	Name string
	// InNamespace and OutNamespace are those of the definitions when empty.
	InNamespace, OutNamespace string
	// InID restricts the inputs to one.
	InID string
	// ID of the output of an input, "" for none; that of the input when nil. When two inputs would share an output, the
	// first one by id has it, and the controller fails for the other.
	ID func(in *resource.Typed[In]) string
	// Extra inputs that Transform reads.
	Extra []controller.Input
	// Writes says whether others write outputs of the type.
	Writes controller.OutputKind
	// Hold keeps a finalizer, the controller's name, on each input until its output is gone.
	Hold bool
	// Transform fills out from in. It may be called any number of times.
	Transform func(ctx context.Context, r state.Reader, log *slog.Logger, in *resource.Typed[In], out *Out) error
	// Label changes the output's labels and annotations, if set.
	Label func(in *resource.Typed[In], md *resource.Metadata)
	// Release is called, with Hold, before the finalizer of an input whose output is gone is removed. An error keeps it.
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

// one brings the output of one input in line.
func (m *Map[In, Out]) one(ctx context.Context, rt controller.Runtime, log *slog.Logger, in *resource.Typed[In], id string) error {
	if m.Hold && !in.Metadata().HasFinalizer(m.Name) {
		if err := rt.AddFinalizer(ctx, in.Metadata().Pointer(), m.Name); err != nil {
			return err
		}
	}

	var out Out

	err := m.Transform(ctx, rt, log, in, &out)
	if errors.Is(err, ErrNoOutput) {
		return nil
	}

	empty := resource.New[Out](m.OutNamespace, id)

	_, err = rt.Modify(ctx, empty, func(r resource.Resource) error {
		// A failed one is written too, as far as the cleanup of outputs is concerned.
		if err != nil {
			return err
		}

		return fill(r, out, in, m.Label)
	})

	// An output that others still hold while it is torn down is created again when they let go: the runtime wakes us.
	if state.IsPhaseConflict(err) {
		return nil
	}

	if errors.Is(err, controller.ErrSkip) {
		log.Debug("skipped", "resource", in.String(), "reason", err)

		return nil
	}

	return err
}

// fill makes a resource the output of an input.
func fill[In, Out resource.Spec](r resource.Resource, out Out, in *resource.Typed[In], label func(*resource.Typed[In], *resource.Metadata)) error {
	t, err := typed.As[Out](r)
	if err != nil {
		return err
	}

	*t.TypedSpec() = out

	if label != nil {
		label(in, t.Metadata())
	}

	return nil
}

// release lets an input go whose output is gone.
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
