// SPDX-License-Identifier: Apache-2.0

// Package fromconfig is the controller of resources that depend on the machine configuration alone: a pure function builds one
// resource (Controller), or one for each entry (Many). A resource that the configuration no longer asks for is destroyed. Controllers
// with other inputs read the configuration with Active.
package fromconfig

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
)

// Input is the active machine configuration.
func Input() controller.Input {
	return controller.In[config.MachineConfigSpec](controller.Weak, "", config.ActiveID)
}

// View returns what the active configuration says, or the defaults without one.
func View(ctx context.Context, r state.Reader) (*view.Config, error) {
	return find(ctx, r, config.ActiveID)
}

// Active returns what the active configuration says, or nil when there is none that describes a machine.
func Active(ctx context.Context, r state.Reader) (*view.Config, error) {
	return complete(View(ctx, r))
}

func find(ctx context.Context, r state.Reader, id string) (*view.Config, error) {
	var found config.MachineConfigSpec

	f := typed.Read(ctx, r, id, &found)

	return found.View(), f.Err
}

func complete(cfg *view.Config, err error) (*view.Config, error) {
	if err != nil || !cfg.Complete() {
		return nil, err
	}

	return cfg, nil
}

// Access is like Active, for the settings by which the API is reached. Without an active configuration, it returns the authorities of
// a stored one that cannot be decoded.
func Access(ctx context.Context, r state.Reader) (*view.Config, error) {
	cfg, err := Active(ctx, r)
	if err != nil || cfg != nil {
		return cfg, err
	}

	return complete(find(ctx, r, config.AccessID))
}

// Controller builds the resource id of S, in S's default namespace, from the configuration. build returns nil when the
// configuration asks for no such resource; kind is Shared when other controllers write the type too.
func Controller[S resource.Spec](name, id string, kind controller.OutputKind, build func(*view.Config) (*S, error)) controller.Controller {
	return following(name, kind, Input(), Active, one(id, build))
}

// AccessController is a Controller of what Access returns.
func AccessController[S resource.Spec](name, id string, kind controller.OutputKind, build func(*view.Config) (*S, error)) controller.Controller {
	return following(name, kind, controller.In[config.MachineConfigSpec](controller.Weak, ""), Access, one(id, build))
}

// Many builds resources of S by their ids. build is also called without a configuration: then the view has the defaults.
func Many[S resource.Spec](name string, kind controller.OutputKind, build func(*view.Config) (map[string]S, error)) controller.Controller {
	return following(name, kind, Input(), View, build)
}

func one[S resource.Spec](id string, build func(*view.Config) (*S, error)) func(*view.Config) (map[string]S, error) {
	return func(cfg *view.Config) (map[string]S, error) {
		spec, err := build(cfg)
		if err != nil || spec == nil {
			return nil, err
		}

		return map[string]S{id: *spec}, nil
	}
}

func following[S resource.Spec](
	name string, kind controller.OutputKind, input controller.Input,
	read func(context.Context, state.Reader) (*view.Config, error), build func(*view.Config) (map[string]S, error),
) controller.Controller {
	written := resource.KindOf[S]("")

	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{input},
		Writes:         []controller.Output{controller.Out[S](kind, written.Namespace)},
		Cleanup:        []resource.Kind{written},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := read(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			specs, err := build(cfg)
			if err != nil {
				return fmt.Errorf("machine configuration: %w", err)
			}

			for id, spec := range specs {
				// A resource that is being torn down is written when it is destroyed: the runtime wakes the controller then.
				if err := typed.Set(ctx, rt, "", id, spec); err != nil && !state.IsPhaseConflict(err) {
					return err
				}
			}

			return nil
		},
	}
}

// OnControlPlane limits a build function to control plane machines.
func OnControlPlane[S resource.Spec](build func(*view.Config) (*S, error)) func(*view.Config) (*S, error) {
	return func(cfg *view.Config) (*S, error) {
		if !cfg.Type().IsControlPlane() {
			return nil, nil
		}

		return build(cfg)
	}
}
