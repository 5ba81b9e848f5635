// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// APIServiceConfigID is the id of the only one.
const APIServiceConfigID = "apid"

var apiServiceConfigDefinition = domain.Type("APIServiceConfigs",
	"Listen Address={.listenAddress}", "Node Routing Disabled={.nodeRoutingDisabled}", "Readonly Role Mode={.readonlyRoleMode}", "Skip Verifying Client Cert={.skipVerifyingClientCert}")

// APIServiceConfigSpec is how apid listens and whom it lets in.
type APIServiceConfigSpec struct {
	ListenAddress           string `yaml:"listenAddress"           protobuf:"1"`
	NodeRoutingDisabled     bool   `yaml:"nodeRoutingDisabled"     protobuf:"2"`
	ReadonlyRoleMode        bool   `yaml:"readonlyRoleMode"        protobuf:"3"`
	SkipVerifyingClientCert bool   `yaml:"skipVerifyingClientCert" protobuf:"4"`
}

// Definition implements resource.Spec.
func (APIServiceConfigSpec) Definition() *resource.Definition { return apiServiceConfigDefinition }

// MaintenanceServiceRequestID is the id of the only one.
const MaintenanceServiceRequestID = "maintenance"

var maintenanceServiceRequestDefinition = domain.Type("MaintenanceServiceRequests")

// MaintenanceServiceRequestSpec is a signal: no source has a configuration, so the API shall take one from anybody who
// reaches the machine. Its absence keeps the API shut while a configuration is still being looked for.
type MaintenanceServiceRequestSpec struct{}

// Definition implements resource.Spec.
func (MaintenanceServiceRequestSpec) Definition() *resource.Definition {
	return maintenanceServiceRequestDefinition
}
