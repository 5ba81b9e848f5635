// SPDX-License-Identifier: Apache-2.0

// Package fromconfig is the commonest controller: one resource made from the machine configuration by a pure
// function, gone when the configuration is gone or does not ask for it.
package fromconfig

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/v1alpha1"
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

// Main returns the main document of the active configuration, or nil when there is none. It is read-only.
func Main(ctx context.Context, r state.Reader) (*v1alpha1.Config, error) {
	res, err := typed.Find[config.MachineConfigSpec](ctx, r, "", config.ActiveID)
	if err != nil || res == nil || res.Metadata().Phase() == resource.PhaseTearingDown {
		return nil, err
	}

	return res.TypedSpec().Config().Main(), nil
}

// Access is like Main, for what the API is reached by: it has the authorities of a stored configuration that cannot be decoded, when
// there is no active one.
func Access(ctx context.Context, r state.Reader) (*v1alpha1.Config, error) {
	cfg, err := Main(ctx, r)
	if err != nil || cfg != nil {
		return cfg, err
	}

	res, err := typed.Find[config.MachineConfigSpec](ctx, r, "", config.AccessID)
	if err != nil || res == nil || res.Metadata().Phase() == resource.PhaseTearingDown {
		return nil, err
	}

	return res.TypedSpec().Config().Main(), nil
}

// Controller makes the resource id of S, in S's default namespace, from the main document. build returns nil where the
// configuration asks for no such resource; kind tells whether others write the type too.
func Controller[S resource.Spec](name, id string, kind controller.OutputKind, build func(*v1alpha1.Config) (*S, error)) controller.Controller {
	return following(name, id, kind, build, Main, Input())
}

// AccessController is a Controller of what Access returns.
func AccessController[S resource.Spec](name, id string, kind controller.OutputKind, build func(*v1alpha1.Config) (*S, error)) controller.Controller {
	return following(name, id, kind, build, Access, controller.In[config.MachineConfigSpec](controller.Weak, ""))
}

func following[S resource.Spec](
	name, id string, kind controller.OutputKind, build func(*v1alpha1.Config) (*S, error),
	find func(context.Context, state.Reader) (*v1alpha1.Config, error), input controller.Input,
) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{input},
		Writes:         []controller.Output{controller.Out[S](kind)},
		Cleanup:        []resource.Kind{resource.KindOf[S]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := find(ctx, rt)
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
func OnControlPlane[S resource.Spec](build func(*v1alpha1.Config) (*S, error)) func(*v1alpha1.Config) (*S, error) {
	return func(cfg *v1alpha1.Config) (*S, error) {
		if !cfg.Machine.Type.IsControlPlane() {
			return nil, nil
		}

		return build(cfg)
	}
}
