// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// nodeCordonedController requests that the own Node is unschedulable while the machine goes down. The next boot undoes this.
func nodeCordonedController() controller.Controller {
	var status runtime.MachineStatusSpec

	return frominputs.One("k8s.NodeCordonedSpecController", k8s.NodeCordonedID, controller.Exclusive, frominputs.List{
		frominputs.Of(runtime.MachineStatusID, &status),
	}, func() (*k8s.NodeCordonedSpecSpec, error) {
		switch status.Stage { // in all other stages the machine stays up
		case runtime.StageRebooting, runtime.StageShuttingDown, runtime.StageResetting, runtime.StageUpgrading:
			return &k8s.NodeCordonedSpecSpec{}, nil
		}

		return nil, nil
	})
}
