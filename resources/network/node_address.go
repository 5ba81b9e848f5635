// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var nodeAddressDefinition = domain.Type("NodeAddresses", "Addresses={.addresses}", "SortAlgorithm={.sortAlgorithm}")

// NodeAddressSpec is a set of the machine's addresses.
type NodeAddressSpec struct {
	Addresses     []netip.Prefix                  `yaml:"addresses" protobuf:"1"`
	SortAlgorithm nethelpers.AddressSortAlgorithm `yaml:"sortAlgorithm" protobuf:"2"`
}

// Definition implements resource.Spec.
func (NodeAddressSpec) Definition() *resource.Definition { return nodeAddressDefinition }

// IPs returns the addresses without their prefix lengths.
func (s NodeAddressSpec) IPs() []netip.Addr {
	ips := make([]netip.Addr, 0, len(s.Addresses))
	for _, p := range s.Addresses {
		ips = append(ips, p.Addr())
	}

	return ips
}

// FilteredNodeAddressID returns the id of a set after a filter: current-no-k8s.
func FilteredNodeAddressID(set, filter string) string { return set + "-" + filter }
