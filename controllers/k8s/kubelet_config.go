// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubeletConfigController copies the kubelet's settings, once the folder of static pods is written.
func kubeletConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.KubeletConfigController",
		Reads: []controller.Input{
			fromconfig.Input(),
			controller.In[k8s.StaticPodServerStatusSpec](controller.Weak, "", k8s.StaticPodServerID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubeletConfigSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubeletConfigSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Active(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			var server k8s.StaticPodServerStatusSpec

			if f := typed.Read(ctx, rt, k8s.StaticPodServerID, &server); f.Err != nil || !f.OK {
				return f.Err
			}

			return typed.Set(ctx, rt, "", k8s.KubeletID, settings.Kubelet(cfg))
		},
	}
}
