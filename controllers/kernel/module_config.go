// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// needed modules are those that nothing asks the kernel for by itself: the filter of bridged traffic, which
// Kubernetes' services rely on, and the file system of containers.
var needed = []string{"br_netfilter", "overlay"}

// ModuleConfigController wants the needed modules and those of machine.kernel.modules.
func ModuleConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.KernelModuleConfigController",
		Reads:          []controller.Input{controller.In[config.MachineConfigSpec](controller.Weak, "", config.ActiveID)},
		Writes:         []controller.Output{controller.Out[runtime.KernelModuleSpecSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.KernelModuleSpecSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			for _, name := range needed {
				if err := typed.Set(ctx, rt, "", name, runtime.KernelModuleSpecSpec{Name: name}); err != nil {
					return err
				}
			}

			cfg, err := typed.Find[config.MachineConfigSpec](ctx, rt, "", config.ActiveID)
			if err != nil || cfg == nil {
				return err
			}

			for _, m := range cfg.TypedSpec().View().KernelModules() {
				spec := runtime.KernelModuleSpecSpec{Name: m.Name, Parameters: m.Parameters}
				if err := typed.Set(ctx, rt, "", m.Name, spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}
