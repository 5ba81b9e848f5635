// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[APICertsSpec](),
		resource.Register[CertSANSpec](),
		resource.Register[EtcdCertsSpec](),
		resource.Register[EtcdRootSpec](),
		resource.Register[KubeletSpec](),
		resource.Register[KubernetesCertsSpec](),
		resource.Register[KubernetesDynamicCertsSpec](),
		resource.Register[KubernetesRootSpec](),
		resource.Register[MaintenanceRootSpec](),
		resource.Register[OSRootSpec](),
		resource.Register[TrustdCertsSpec](),
	)
}
