// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var nodeIPDefinition = &resource.Definition{
	Type:             "NodeIPs.kubernetes.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Addresses", JSONPath: "{.addresses}"},
	},
}

// NodeIPSpec is the addresses that the kubelet registers with.
type NodeIPSpec struct {
	Addresses []netip.Addr `yaml:"addresses" protobuf:"1"`
}

// Definition implements resource.Spec.
func (NodeIPSpec) Definition() *resource.Definition { return nodeIPDefinition }
