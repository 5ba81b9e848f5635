// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"path"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

// renderSecretsController writes the keys of the static pods.
func renderSecretsController(root string) controller.Controller {
	var (
		material   pods.Secrets
		encryption k8s.EtcdEncryptionConfigSpec
	)

	return frominputs.Controller[k8s.SecretsStatusSpec]("k8s.RenderSecretsStaticPodController", controller.Exclusive, frominputs.List{
		frominputs.Of(secrets.KubernetesRootID, &material.Root),
		frominputs.Of(secrets.EtcdRootID, &material.EtcdRoot).OrKeep(),
		frominputs.Of(secrets.KubernetesID, &material.Kubeconfigs).OrKeep(),
		frominputs.Of(secrets.KubernetesDynamicID, &material.Dynamic).OrKeep(),
		frominputs.Of(secrets.EtcdID, &material.Etcd).OrKeep(),
		frominputs.Of(k8s.EtcdEncryptionID, &encryption).OrKeep(),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		material.EtcdEncryption = encryption.Configuration

		folders, err := pods.SecretFolders(material)
		if err != nil {
			return err
		}

		publish := func(id, version string) error {
			return typed.Set(ctx, rt, "", id, k8s.SecretsStatusSpec{Ready: true, Version: version})
		}

		return writeFolders(root, folders, pods.SecretsVersion, func(id, version string) error {
			if id == pods.APIServer {
				if err := publish(pods.KubeletCA, pods.KubeletCAVersion(folders)); err != nil {
					return err
				}
			}

			return publish(id, version)
		})
	})
}

// writeFolders writes the folders of the components, and publishes the version of each under its component's id. The version of all
// comes last.
func writeFolders(root string, folders []folder.Folder, version func([]folder.Folder) string, publish func(id, version string) error) error {
	for _, f := range folders {
		if err := folder.Write(root, f); err != nil {
			return err
		}

		if err := publish(path.Base(f.Path), version([]folder.Folder{f})); err != nil {
			return err
		}
	}

	return publish(k8s.StaticPodsID, version(folders))
}
