// SPDX-License-Identifier: Apache-2.0

// Package network holds the resources of the machine's network: six pairs of a wanted spec and an observed
// status (address, route, link, resolver, hostname, time server), operators, and what is derived from them.
//
// A spec is proposed by producers in namespace network-config, under the id LAYER/ID. For each ID the highest
// layer wins and is written to namespace network under ID; only that one is acted upon.
package network

import (
	"cmp"

	"github.com/seed-59268b81/talos/resources/enum"
)

// Namespaces.
const (
	NamespaceName       = "network"
	ConfigNamespaceName = "network-config"
)

// Singleton ids.
const (
	HostnameID                 = "hostname"
	ResolverID                 = "resolvers"
	TimeServerID               = "timeservers"
	StatusID                   = "status"
	FirstHardwareAddr          = "first"
	NodeAddressSortAlgorithmID = "default"
)

// Sets of node addresses: the ids of NodeAddresses.
const (
	// NodeAddressDefaultID is one address, the same for as long as the machine has it.
	NodeAddressDefaultID = "default"
	// NodeAddressCurrentID are the addresses of now.
	NodeAddressCurrentID = "current"
	// NodeAddressRoutedID are the addresses of now that are on links and of a length that others can reach.
	NodeAddressRoutedID = "routed"
	// NodeAddressAccumulativeID are all addresses since boot.
	NodeAddressAccumulativeID = "accumulative"
)

// Filters of node addresses: the ids of NodeAddressFilters.
const (
	NodeAddressFilterNoK8s   = "no-k8s"
	NodeAddressFilterOnlyK8s = "only-k8s"
)

// ConfigLayer is where a setting comes from; the higher wins.
type ConfigLayer uint8

// The layers.
const (
	LayerDefault ConfigLayer = iota
	LayerCmdline
	LayerPlatform
	LayerOperator
	LayerConfiguration
)

var layerNames = enum.Of[ConfigLayer]("default", "cmdline", "platform", "operator", "configuration")

func (l ConfigLayer) String() string               { return layerNames.Text(l) }
func (l ConfigLayer) MarshalText() ([]byte, error) { return layerNames.Marshal(l) }
func (l *ConfigLayer) UnmarshalText(text []byte) error {
	return layerNames.Parse("network layer", text, l)
}

// Compare orders layers, the losing one first.
func (l ConfigLayer) Compare(other ConfigLayer) int { return cmp.Compare(l, other) }

// LayeredID is the id of a spec in namespace network-config.
func LayeredID(layer ConfigLayer, id string) string { return layer.String() + "/" + id }
