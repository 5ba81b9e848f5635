// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var kubePrismConfigDefinition = domain.Type("KubePrismConfigs", "Host={.host}", "Port={.port}", "Endpoints={.endpoints}")

// KubePrismConfigSpec is where the local load balancer for API servers listens, and its upstreams.
type KubePrismConfigSpec struct {
	Host      string              `yaml:"host" protobuf:"1"`
	Port      int                 `yaml:"port" protobuf:"2"`
	Endpoints []KubePrismEndpoint `yaml:"endpoints" protobuf:"3"`
}

// Definition implements resource.Spec.
func (KubePrismConfigSpec) Definition() *resource.Definition { return kubePrismConfigDefinition }

var kubePrismEndpointsDefinition = domain.Type("KubePrismEndpoints", "Hosts={.endpoints[*].host}")

// KubePrismEndpointsSpec is the API servers that KubePrism may use.
type KubePrismEndpointsSpec struct {
	Endpoints []KubePrismEndpoint `yaml:"endpoints" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KubePrismEndpointsSpec) Definition() *resource.Definition { return kubePrismEndpointsDefinition }

// KubePrismEndpoint is one API server behind KubePrism.
type KubePrismEndpoint struct {
	Host string `yaml:"host" protobuf:"1"`
	Port uint32 `yaml:"port" protobuf:"2"`
}

var kubePrismStatusesDefinition = domain.Type("KubePrismStatuses", "Host={.host}", "Healthy={.healthy}")

// KubePrismStatusesSpec exists while KubePrism runs. It is healthy while an API server answers.
type KubePrismStatusesSpec struct {
	Host    string `yaml:"host" protobuf:"1"`
	Healthy bool   `yaml:"healthy" protobuf:"2"`
}

// Definition implements resource.Spec.
func (KubePrismStatusesSpec) Definition() *resource.Definition { return kubePrismStatusesDefinition }

var endpointDefinition = controlPlane.Type("Endpoints", "Addresses={.addresses}", "Hosts={.hosts}")

// EndpointSpec is the addresses of the control plane's API servers.
type EndpointSpec struct {
	Addresses []netip.Addr `yaml:"addresses" protobuf:"1"`
	Hosts     []string     `yaml:"hosts" protobuf:"2"`
}

// Definition implements resource.Spec.
func (EndpointSpec) Definition() *resource.Definition { return endpointDefinition }
