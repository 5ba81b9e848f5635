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

// The ids of parameters begin with where they are: /proc/sys or /sys. The rest is the path, with dots for slashes.
const (
	sysctlPrefix = "proc.sys."
	sysfsPrefix  = "sys."
)

func sysctlID(name string) string { return sysctlPrefix + name }

// ParamConfigController turns machine.sysctls and machine.sysfs into specs.
func ParamConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.KernelParamConfigController",
		Reads:          []controller.Input{controller.In[config.MachineConfigSpec](controller.Weak, "", config.ActiveID)},
		Writes:         []controller.Output{controller.Out[runtime.KernelParamSpecSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[runtime.KernelParamSpecSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := typed.Find[config.MachineConfigSpec](ctx, rt, "", config.ActiveID)
			if err != nil || cfg == nil {
				return err
			}

			for prefix, params := range map[string]map[string]string{sysctlPrefix: cfg.TypedSpec().View().Sysctls(), sysfsPrefix: cfg.TypedSpec().View().Sysfs()} {
				for name, value := range params {
					if err := typed.Set(ctx, rt, "", prefix+name, runtime.KernelParamSpecSpec{Value: value}); err != nil {
						return err
					}
				}
			}

			return nil
		},
	}
}
