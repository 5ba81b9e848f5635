// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// manifestController renders the built-in manifests.
func manifestController() controller.Controller {
	var (
		settings k8s.BootstrapManifestsConfigSpec
		root     secrets.KubernetesRootSpec
	)

	return frominputs.Controller[k8s.ManifestSpec]("k8s.ManifestController", controller.Shared, frominputs.List{
		frominputs.Of(k8s.BootstrapManifestsID, &settings),
		frominputs.Of(secrets.KubernetesRootID, &root),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
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
	})
}

func setManifest(ctx context.Context, rt controller.Runtime, manifest manifests.Manifest) error {
	spec := k8s.ManifestSpec{}
	for _, object := range manifest.Objects {
		spec.Items = append(spec.Items, k8s.SingleManifest{Object: object})
	}

	return typed.Set(ctx, rt, "", manifest.Name, spec)
}
