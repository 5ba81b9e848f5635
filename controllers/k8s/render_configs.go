// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// renderConfigsController writes the configuration files of the static pods.
func renderConfigsController(root string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.RenderConfigsStaticPodController",
		Reads: []controller.Input{
			controller.In[k8s.AdmissionControlConfigSpec](controller.Weak, "", k8s.AdmissionControlID),
			controller.In[k8s.AuditPolicyConfigSpec](controller.Weak, "", k8s.AuditPolicyID),
			controller.In[k8s.AuthenticationConfigSpec](controller.Weak, "", k8s.AuthenticationID),
			controller.In[k8s.AuthorizationConfigSpec](controller.Weak, "", k8s.AuthorizationID),
			controller.In[k8s.SchedulerConfigSpec](controller.Weak, "", k8s.SchedulerID),
		},
		Writes:  []controller.Output{controller.Out[k8s.ConfigStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.ConfigStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var configs pods.Configs

			ok, err := typed.All(
				typed.Read(ctx, rt, k8s.AdmissionControlID, &configs.Admission),
				typed.Read(ctx, rt, k8s.AuditPolicyID, &configs.Audit),
				typed.Read(ctx, rt, k8s.AuthenticationID, &configs.Authentication),
				typed.Read(ctx, rt, k8s.AuthorizationID, &configs.Authorization),
				typed.Read(ctx, rt, k8s.SchedulerID, &configs.Scheduler),
			)
			if err != nil || !ok {
				return err
			}

			folders, err := pods.ConfigFolders(configs)
			if err != nil {
				return err
			}

			return writeFolders(root, folders, func(id, version string) error {
				return typed.Set(ctx, rt, "", id, k8s.ConfigStatusSpec{Ready: true, Version: version})
			})
		},
	}
}
