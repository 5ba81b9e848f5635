// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// MachineTypeController states the role of the machine.
func MachineTypeController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "config.MachineTypeController",
		Reads:          []controller.Input{controller.In[configres.MachineConfigSpec](controller.Weak, "", configres.ActiveID)},
		Writes:         []controller.Output{controller.Out[configres.MachineTypeSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[configres.MachineTypeSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := typed.Find[configres.MachineConfigSpec](ctx, rt, "", configres.ActiveID)
			if err != nil || cfg == nil {
				return err
			}

			// A configuration of other documents alone says nothing of the role.
			if !cfg.TypedSpec().View().Complete() {
				return nil
			}

			return typed.Set(ctx, rt, "", configres.MachineTypeID, configres.MachineTypeSpec{
				MachineType: configres.MachineTypeOf(cfg.TypedSpec().View().Type()),
			})
		},
	}
}
