// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// APIServiceConfigID is the id of the only APIServiceConfig.
const APIServiceConfigID = "apid"

var apiServiceConfigDefinition = domain.Type("APIServiceConfigs",
	"Listen Address={.listenAddress}", "Node Routing Disabled={.nodeRoutingDisabled}", "Readonly Role Mode={.readonlyRoleMode}", "Skip Verifying Client Cert={.skipVerifyingClientCert}")

// APIServiceConfigSpec is how apid listens and which clients it accepts.
type APIServiceConfigSpec struct {
	ListenAddress           string `yaml:"listenAddress"           protobuf:"1"`
	NodeRoutingDisabled     bool   `yaml:"nodeRoutingDisabled"     protobuf:"2"`
	ReadonlyRoleMode        bool   `yaml:"readonlyRoleMode"        protobuf:"3"`
	SkipVerifyingClientCert bool   `yaml:"skipVerifyingClientCert" protobuf:"4"`
}

// Definition implements resource.Spec.
func (APIServiceConfigSpec) Definition() *resource.Definition { return apiServiceConfigDefinition }

// MaintenanceServiceRequestID is the id of the only MaintenanceServiceRequest.
const MaintenanceServiceRequestID = "maintenance"

var maintenanceServiceRequestDefinition = domain.Type("MaintenanceServiceRequests")

// MaintenanceServiceRequestSpec is a signal: no source has a configuration, so the API accepts one from every client. While it does not
// exist, and there is no configuration, the API is closed.
type MaintenanceServiceRequestSpec struct{}

// Definition implements resource.Spec.
func (MaintenanceServiceRequestSpec) Definition() *resource.Definition {
	return maintenanceServiceRequestDefinition
}
