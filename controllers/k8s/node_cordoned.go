// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// nodeCordonedController wants the own Node unschedulable while the machine goes down. The next boot undoes it.
func nodeCordonedController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.NodeCordonedSpecController",
		Reads:          []controller.Input{controller.In[runtime.MachineStatusSpec](controller.Weak, "", runtime.MachineStatusID)},
		Writes:         []controller.Output{controller.Out[k8s.NodeCordonedSpecSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[k8s.NodeCordonedSpecSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var status runtime.MachineStatusSpec

			if f := typed.Read(ctx, rt, runtime.MachineStatusID, &status); f.Err != nil || !f.OK {
				return f.Err
			}

			switch status.Stage { // in all other stages the machine stays
			case runtime.StageRebooting, runtime.StageShuttingDown, runtime.StageResetting, runtime.StageUpgrading:
				return typed.Set(ctx, rt, "", k8s.NodeCordonedID, k8s.NodeCordonedSpecSpec{})
			}

			return nil
		},
	}
}
