// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var maintenanceRootDefinition = &resource.Definition{
	Type:             "MaintenanceRootSecrets.secrets.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// MaintenanceRootSpec is the authority of the maintenance API, made anew at each boot.
type MaintenanceRootSpec struct {
	CA CertAndKey `yaml:"ca" protobuf:"1"`
}

// Definition implements resource.Spec.
func (MaintenanceRootSpec) Definition() *resource.Definition { return maintenanceRootDefinition }
