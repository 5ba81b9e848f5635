// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/controller"
)

// Controllers of this domain.
func Controllers() []controller.Controller {
	return []controller.Controller{
		rootOSController(),
		rootEtcdController(),
		rootKubernetesController(),
		kubeletController(),
		maintenanceRootController(),
		apiCertSANsController(),
		kubernetesCertSANsController(),
		maintenanceCertSANsController(),
		apiController(trust.Certificate),
		trustdController(),
		etcdController(),
		kubernetesController(),
		kubernetesDynamicCertsController(),
	}
}
