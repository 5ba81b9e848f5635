// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// manifestController renders the built-in manifests.
func manifestController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.ManifestController",
		Reads: []controller.Input{
			controller.In[k8s.BootstrapManifestsConfigSpec](controller.Weak, "", k8s.BootstrapManifestsID),
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
		},
		Writes:  []controller.Output{controller.Out[k8s.ManifestSpec](controller.Shared)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.ManifestSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				settings k8s.BootstrapManifestsConfigSpec
				root     secrets.KubernetesRootSpec
			)

			ok, err := typed.All(typed.Read(ctx, rt, k8s.BootstrapManifestsID, &settings), typed.Read(ctx, rt, secrets.KubernetesRootID, &root))
			if err != nil || !ok {
				return err
			}

			rendered, err := manifests.Builtin(settings, root)
			if err != nil {
				return err
			}

			for _, manifest := range rendered {
				if err := setManifest(ctx, rt, manifest); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func setManifest(ctx context.Context, rt controller.Runtime, manifest manifests.Manifest) error {
	spec := k8s.ManifestSpec{}
	for _, object := range manifest.Objects {
		spec.Items = append(spec.Items, k8s.SingleManifest{Object: object})
	}

	return typed.Set(ctx, rt, "", manifest.Name, spec)
}
