// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/folder"
)

// renderConfigsController writes the configuration files of the static pods.
func renderConfigsController(root string) controller.Controller {
	var configs pods.Configs

	return frominputs.Controller[k8s.ConfigStatusSpec]("k8s.RenderConfigsStaticPodController", controller.Exclusive, frominputs.List{
		frominputs.Of(k8s.AdmissionControlID, &configs.Admission),
		frominputs.Of(k8s.AuditPolicyID, &configs.Audit),
		frominputs.Of(k8s.AuthenticationID, &configs.Authentication),
		frominputs.Of(k8s.AuthorizationID, &configs.Authorization),
		frominputs.Of(k8s.SchedulerID, &configs.Scheduler),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		folders, err := pods.ConfigFolders(configs)
		if err != nil {
			return err
		}

		return writeFolders(root, folders, folder.Digest, func(id, version string) error {
			return typed.Set(ctx, rt, "", id, k8s.ConfigStatusSpec{Ready: true, Version: version})
		})
	})
}
