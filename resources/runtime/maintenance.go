// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// MaintenanceServiceRequestID is the id of the only one.
const MaintenanceServiceRequestID = "maintenance"

var maintenanceServiceRequestDefinition = &resource.Definition{
	Type:             "MaintenanceServiceRequests.runtime.talos.dev",
	DefaultNamespace: NamespaceName,
}

// MaintenanceServiceRequestSpec is a signal: no source has a configuration, so the API shall take one from anybody who
// reaches the machine. Its absence keeps the API shut while a configuration is still being looked for.
type MaintenanceServiceRequestSpec struct{}

// Definition implements resource.Spec.
func (MaintenanceServiceRequestSpec) Definition() *resource.Definition {
	return maintenanceServiceRequestDefinition
}
