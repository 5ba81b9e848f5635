// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func rootOSController() controller.Controller {
	return fromconfig.AccessController("secrets.RootOSController", secrets.OSRootID, controller.Exclusive,
		func(cfg *view.Config) (*secrets.OSRootSpec, error) {
			spec := osRoot(cfg)

			return &spec, nil
		})
}

func rootEtcdController() controller.Controller {
	return fromconfig.Controller("secrets.RootEtcdController", secrets.EtcdRootID, controller.Exclusive,
		fromconfig.OnControlPlane(func(cfg *view.Config) (*secrets.EtcdRootSpec, error) {
			spec := etcdRoot(cfg)

			return &spec, nil
		}))
}

func rootKubernetesController() controller.Controller {
	return fromconfig.Controller("secrets.RootKubernetesController", secrets.KubernetesRootID, controller.Exclusive,
		fromconfig.OnControlPlane(func(cfg *view.Config) (*secrets.KubernetesRootSpec, error) {
			spec, err := kubernetesRoot(cfg)

			return &spec, err
		}))
}

func kubeletController() controller.Controller {
	return fromconfig.Controller("secrets.KubeletController", secrets.KubeletID, controller.Exclusive,
		func(cfg *view.Config) (*secrets.KubeletSpec, error) {
			spec, err := kubeletSecrets(cfg)

			return &spec, err
		})
}
