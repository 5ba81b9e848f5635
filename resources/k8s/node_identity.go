// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// NodeAddressesAnnotation has all addresses of a Node, separated by commas: the kubelet tells one of each family only.
const NodeAddressesAnnotation = "networking.talos.dev/self-ips"

var nodeIdentityDefinition = &resource.Definition{
	Type:             "NodeIdentities.kubernetes.talos.dev",
	DefaultNamespace: ControlPlaneNamespace,
	PrintColumns: []resource.PrintColumn{
		{Name: "Addresses", JSONPath: "{.addresses}"},
		{Name: "Control plane", JSONPath: "{.controlPlane}"},
		{Name: "Names", JSONPath: "{.names}"},
	},
}

// NodeIdentitySpec is who a Node of the cluster is, as a control plane's API server has it. Its id is the Node's name.
type NodeIdentitySpec struct {
	Addresses    []netip.Addr `yaml:"addresses" protobuf:"1"`
	ControlPlane bool         `yaml:"controlPlane" protobuf:"2"`
	// Names are those that its kubelet or cloud provider gives it beside its own. Nobody has confirmed them.
	Names []string `yaml:"names,omitempty" protobuf:"3"`
}

// Definition implements resource.Spec.
func (NodeIdentitySpec) Definition() *resource.Definition { return nodeIdentityDefinition }
