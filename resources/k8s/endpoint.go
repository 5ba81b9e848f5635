// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var endpointDefinition = &resource.Definition{
	Type:             "Endpoints.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	PrintColumns: []resource.PrintColumn{
		{Name: "Addresses", JSONPath: "{.addresses}"},
		{Name: "Hosts", JSONPath: "{.hosts}"},
	},
}

// EndpointSpec is where the API servers of the control plane are.
type EndpointSpec struct {
	Addresses []netip.Addr `yaml:"addresses" protobuf:"1"`
	Hosts     []string     `yaml:"hosts" protobuf:"2"`
}

// Definition implements resource.Spec.
func (EndpointSpec) Definition() *resource.Definition { return endpointDefinition }
