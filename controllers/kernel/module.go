// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Loader loads kernel modules; package module has the real one.
type Loader interface {
	Load(name string, params ...string) error
}

// ModuleController loads the modules of KernelModuleSpecs. The failure of a module does not stop the others: it has a SettingCondition,
// and the module is tried again.
func ModuleController(loader Loader) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.KernelModuleSpecController",
		Reads:          []controller.Input{controller.In[runtime.KernelModuleSpecSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			specs, err := typed.List[runtime.KernelModuleSpecSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			rt.StartTrackingOutputs()

			var errs []error

			for _, r := range specs {
				err := loader.Load(r.TypedSpec().Name, r.TypedSpec().Parameters...)
				if err == nil {
					continue
				}

				condition := runtime.SettingConditionSpec{Cause: err.Error()}
				errs = append(errs, err, typed.Set(ctx, rt, "", "module/"+r.TypedSpec().Name, condition))
			}

			return errors.Join(append(errs, rt.CleanupOutputs(ctx, resource.KindOf[runtime.SettingConditionSpec]("")))...)
		},
	}
}
