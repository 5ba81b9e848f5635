// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"path"

	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

// renderSecretsController writes the keys of the static pods.
func renderSecretsController(root string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.RenderSecretsStaticPodController",
		Reads: []controller.Input{
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.KubernetesCertsSpec](controller.Weak, "", secrets.KubernetesID),
			controller.In[secrets.KubernetesDynamicCertsSpec](controller.Weak, "", secrets.KubernetesDynamicID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
			controller.In[k8s.EtcdEncryptionConfigSpec](controller.Weak, "", k8s.EtcdEncryptionID),
		},
		Writes:  []controller.Output{controller.Out[k8s.SecretsStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.SecretsStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			asked, err := typed.Find[secrets.KubernetesRootSpec](ctx, rt, "", secrets.KubernetesRootID)
			if err != nil || asked == nil {
				return err
			}

			material, err := gatherSecrets(ctx, rt)
			if err != nil {
				return err
			}

			if material == nil {
				return keep.Outputs[k8s.SecretsStatusSpec](ctx, rt, k8s.StaticPodsID, pods.APIServer, pods.ControllerManager, pods.Scheduler)
			}

			folders, err := pods.SecretFolders(*material)
			if err != nil {
				return err
			}

			return writeFolders(root, folders, func(id, version string) error {
				return typed.Set(ctx, rt, "", id, k8s.SecretsStatusSpec{Ready: true, Version: version})
			})
		},
	}
}

// gatherSecrets returns nil until everything is there.
func gatherSecrets(ctx context.Context, r state.Reader) (*pods.Secrets, error) {
	var (
		out        pods.Secrets
		encryption k8s.EtcdEncryptionConfigSpec
	)

	ok, err := typed.All(
		typed.Read(ctx, r, secrets.KubernetesRootID, &out.Root),
		typed.Read(ctx, r, secrets.EtcdRootID, &out.EtcdRoot),
		typed.Read(ctx, r, secrets.KubernetesID, &out.Kubeconfigs),
		typed.Read(ctx, r, secrets.KubernetesDynamicID, &out.Dynamic),
		typed.Read(ctx, r, secrets.EtcdID, &out.Etcd),
		typed.Read(ctx, r, k8s.EtcdEncryptionID, &encryption),
	)
	if err != nil || !ok {
		return nil, err
	}

	out.EtcdEncryption = encryption.Configuration

	return &out, nil
}

// writeFolders writes the folders of the components, and states the version of each under its component's id; that of
// all comes last.
func writeFolders(root string, folders []folder.Folder, state func(id, version string) error) error {
	for _, f := range folders {
		if err := folder.Write(root, f); err != nil {
			return err
		}

		if err := state(path.Base(f.Path), folder.Digest([]folder.Folder{f})); err != nil {
			return err
		}
	}

	return state(k8s.StaticPodsID, folder.Digest(folders))
}
