// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Controllers of this domain.
func Controllers() []controller.Controller {
	return []controller.Controller{
		fromconfig.AccessController("secrets.RootOSController", secrets.OSRootID, controller.Exclusive, osRoot),
		fromconfig.Controller("secrets.RootEtcdController", secrets.EtcdRootID, controller.Exclusive, fromconfig.OnControlPlane(etcdRoot)),
		fromconfig.Controller("secrets.RootKubernetesController", secrets.KubernetesRootID, controller.Exclusive, fromconfig.OnControlPlane(kubernetesRoot)),
		fromconfig.Controller("secrets.KubeletController", secrets.KubeletID, controller.Exclusive, kubeletSecrets),
		maintenanceRootController(),
		sansController("secrets.APICertSANsController", secrets.OSRootID, secrets.CertSANAPIID, apiSANs),
		sansController("secrets.KubernetesCertSANsController", secrets.KubernetesRootID, secrets.CertSANKubernetesID, kubernetesSANs),
		sansController("secrets.MaintenanceCertSANsController", secrets.MaintenanceRootID, secrets.CertSANMaintenanceID, maintenanceSANs),
		apiController(trust.Certificate),
		keptAPIController(),
		trustdController(),
		discoverydController(),
		etcdController(),
		kubernetesController(),
		kubernetesDynamicCertsController(),
		trustedRootsController(layout.CABundle),
	}
}
