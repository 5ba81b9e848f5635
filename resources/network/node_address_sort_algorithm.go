// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var nodeAddressSortAlgorithmDefinition = domain.Type("NodeAddressSortAlgorithms", "Algorithm={.algorithm}")

// NodeAddressSortAlgorithmSpec chooses the order of node addresses.
type NodeAddressSortAlgorithmSpec struct {
	Algorithm nethelpers.AddressSortAlgorithm `yaml:"algorithm" protobuf:"1"`
}

// Definition implements resource.Spec.
func (NodeAddressSortAlgorithmSpec) Definition() *resource.Definition {
	return nodeAddressSortAlgorithmDefinition
}
