// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// kubeletSpecController puts settings, name and addresses together.
func kubeletSpecController(p platform.Platform) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubeletSpecController",
		Reads: []controller.Input{
			controller.In[k8s.KubeletConfigSpec](controller.Weak, "", k8s.KubeletID),
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
			controller.In[k8s.NodeIPSpec](controller.Weak, "", k8s.NodeIPID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubeletSpecSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubeletSpecSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				settings    k8s.KubeletConfigSpec
				nodename    k8s.NodenameSpec
				ips         k8s.NodeIPSpec
				machineType config.MachineTypeSpec
			)

			ok, err := typed.All(
				typed.Read(ctx, rt, k8s.KubeletID, &settings),
				typed.Read(ctx, rt, k8s.NodenameID, &nodename),
				typed.Read(ctx, rt, k8s.NodeIPID, &ips),
				typed.Read(ctx, rt, config.MachineTypeID, &machineType),
			)
			if err != nil || !ok {
				return err
			}

			spec, err := kubelet.Spec(settings, kubelet.Node{
				Name: nodename.Nodename, IPs: ips.Addresses, ControlPlane: machineType.MachineType.IsControlPlane(),
				Platform: p,
			})
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", k8s.KubeletID, spec)
		},
	}
}

// kubeletStatusController publishes which kubelet runs.
func kubeletStatusController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubeletStatusController",
		Reads: []controller.Input{
			controller.In[k8s.KubeletSpecSpec](controller.Weak, "", k8s.KubeletID),
			serviceInput(KubeletServiceID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubeletStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubeletStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var spec k8s.KubeletSpecSpec

			up, err := serviceHealthy(ctx, rt, KubeletServiceID)
			if err != nil || !up {
				return err
			}

			if f := typed.Read(ctx, rt, k8s.KubeletID, &spec); f.Err != nil || !f.OK {
				return f.Err
			}

			return typed.Set(ctx, rt, "", k8s.KubeletID, k8s.KubeletStatusSpec{Image: spec.Image})
		},
	}
}
