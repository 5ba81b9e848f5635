// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// PlatformController publishes what the machine does not own where it runs.
func PlatformController(p platform.Platform) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "runtime.PlatformController",
		Writes: []controller.Output{
			controller.Out[runtime.PlatformConditionSpec](controller.Exclusive),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			for _, c := range p.Conditions() {
				spec := runtime.PlatformConditionSpec{Reason: c.Reason, Message: c.Message}
				if err := typed.Set(ctx, rt, "", string(c.Facility), spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}
