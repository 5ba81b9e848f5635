// SPDX-License-Identifier: Apache-2.0

// Package fromconfig is the commonest controller: one resource made from the machine configuration by a pure
// function, gone when the configuration is gone or does not ask for it.
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

// Active returns what the active configuration says, or nil when there is none that describes a machine.
func Active(ctx context.Context, r state.Reader) (*view.Config, error) {
	return find(ctx, r, config.ActiveID)
}

func find(ctx context.Context, r state.Reader, id string) (*view.Config, error) {
	res, err := typed.Find[config.MachineConfigSpec](ctx, r, "", id)
	if err != nil || res == nil || res.Metadata().Phase() == resource.PhaseTearingDown || !res.TypedSpec().View().Complete() {
		return nil, err
	}

	return res.TypedSpec().View(), nil
}

// Access is like Active, for what the API is reached by: it has the authorities of a stored configuration that cannot be decoded, when
// there is no active one.
func Access(ctx context.Context, r state.Reader) (*view.Config, error) {
	cfg, err := Active(ctx, r)
	if err != nil || cfg != nil {
		return cfg, err
	}

	return find(ctx, r, config.AccessID)
}

// Controller makes the resource id of S, in S's default namespace, from the configuration. build returns nil where the
// configuration asks for no such resource; kind tells whether others write the type too.
func Controller[S resource.Spec](name, id string, kind controller.OutputKind, build func(*view.Config) (*S, error)) controller.Controller {
	return following(name, id, kind, build, Active, Input())
}

// AccessController is a Controller of what Access returns.
func AccessController[S resource.Spec](name, id string, kind controller.OutputKind, build func(*view.Config) (*S, error)) controller.Controller {
	return following(name, id, kind, build, Access, controller.In[config.MachineConfigSpec](controller.Weak, ""))
}

func following[S resource.Spec](
	name, id string, kind controller.OutputKind, build func(*view.Config) (*S, error),
	read func(context.Context, state.Reader) (*view.Config, error), input controller.Input,
) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{input},
		Writes:         []controller.Output{controller.Out[S](kind)},
		Cleanup:        []resource.Kind{resource.KindOf[S]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := read(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			spec, err := build(cfg)
			if err != nil {
				return fmt.Errorf("machine configuration: %w", err)
			}

			if spec == nil {
				return nil
			}

			return typed.Set(ctx, rt, "", id, *spec)
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
