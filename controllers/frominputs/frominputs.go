// SPDX-License-Identifier: Apache-2.0

// Package frominputs is the controller of what follows from several resources. Each input is declared once, with the variable that it is
// read into. The controller runs when all inputs exist; without one of them its outputs are destroyed:
//
//	var (
//		settings k8s.KubeletConfigSpec
//		nodename k8s.NodenameSpec
//	)
//
//	return frominputs.One("k8s.KubeletSpecController", k8s.KubeletID, controller.Exclusive, frominputs.List{
//		frominputs.Of(k8s.KubeletID, &settings),
//		frominputs.Of(k8s.NodenameID, &nodename),
//	}, func() (*k8s.KubeletSpecSpec, error) {
//		return kubelet.Spec(settings, nodename)
//	})
package frominputs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// Input is what a controller reads.
type Input struct {
	Declared controller.Input
	// Read reports whether the input exists.
	Read func(ctx context.Context, r state.Reader) typed.Found
}

// List is the inputs of a controller, in the order in which they are read.
type List []Input

// Declared returns the inputs as a controller declares them.
func (l List) Declared() []controller.Input {
	out := make([]controller.Input, 0, len(l))
	for _, in := range l {
		out = append(out, in.Declared)
	}

	return out
}

// Read reads inputs until one is missing, and reports whether all exist.
func (l List) Read(ctx context.Context, r state.Reader) (bool, error) {
	for _, in := range l {
		if f := in.Read(ctx, r); f.Err != nil || !f.OK {
			return false, f.Err
		}
	}

	return true, nil
}

// Of reads a resource, in its default namespace, into a variable.
func Of[S resource.Spec](id string, into *S) Input {
	return Input{controller.In[S](controller.Weak, "", id), func(ctx context.Context, r state.Reader) typed.Found {
		*into = *new(S) // an earlier run has filled it

		return typed.Read(ctx, r, id, into)
	}}
}

// Optional returns an input that may be missing: then its variable is empty.
func (in Input) Optional() Input {
	return Input{in.Declared, func(ctx context.Context, r state.Reader) typed.Found {
		return typed.Found{OK: true, Err: in.Read(ctx, r).Err}
	}}
}

// OrKeep returns an input without which the outputs stay as they are.
func (in Input) OrKeep() Input {
	return Input{in.Declared, func(ctx context.Context, r state.Reader) typed.Found {
		f := in.Read(ctx, r)
		if f.Err == nil && !f.OK {
			f.Err = controller.ErrSkip
		}

		return f
	}}
}

// Any returns an input whose kind has others that the controller reads by itself.
func (in Input) Any() Input {
	in.Declared.ID = ""

	return in
}

// Also is an input that the controller reads by itself.
func Also(in controller.Input) Input {
	return Input{in, func(context.Context, state.Reader) typed.Found { return typed.Found{OK: true} }}
}

// Config reads the active configuration, when it describes a machine.
func Config(into **view.Config) Input {
	return Input{fromconfig.Input(), func(ctx context.Context, r state.Reader) typed.Found {
		var err error

		*into, err = fromconfig.Active(ctx, r)

		return typed.Found{OK: *into != nil, Err: err}
	}}
}

// Controller writes resources of type Out, and destroys those that a run does not write. With controller.ErrSkip they stay as they are.
// With controller.Requeue the controller runs again after that time.
func Controller[Out resource.Spec](
	name string, kind controller.OutputKind, inputs List, run func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error,
) controller.Controller {
	written := resource.KindOf[Out]("")

	return Reconciler(name, []controller.Output{controller.Out[Out](kind, written.Namespace)}, []resource.Kind{written}, inputs, run)
}

// Reconciler is a Controller of other outputs: those of the kinds cleanup that a run does not write are destroyed.
func Reconciler(
	name string, outputs []controller.Output, cleanup []resource.Kind, inputs List,
	run func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error,
) controller.Controller {
	var again *time.Timer

	return &controller.Reconciler{
		ControllerName: name,
		Reads:          inputs.Declared(),
		Writes:         outputs,
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			if again != nil {
				again.Stop()
			}

			rt.StartTrackingOutputs()

			ok, err := inputs.Read(ctx, rt)
			if err == nil && ok {
				err = run(ctx, rt, log)
			}

			if requeue, ok := errors.AsType[*controller.RequeueError](err); ok {
				again = time.AfterFunc(requeue.After, rt.QueueReconcile)
				err = requeue.Err
			}

			switch {
			case errors.Is(err, controller.ErrSkip):
				return nil
			case err != nil:
				return err
			default:
				return rt.CleanupOutputs(ctx, cleanup...)
			}
		},
	}
}

// One makes the resource id of type Out. There is none when build returns nil.
func One[Out resource.Spec](name, id string, kind controller.OutputKind, inputs List, build func() (*Out, error)) controller.Controller {
	return Controller[Out](name, kind, inputs, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		spec, err := build()
		if err != nil || spec == nil {
			return err
		}

		return typed.Set(ctx, rt, "", id, *spec)
	})
}
