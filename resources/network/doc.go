// SPDX-License-Identifier: Apache-2.0

// Package network holds the resources of the machine's network: six pairs of a wanted spec and an observed
// status (address, route, link, resolver, hostname, time server), operators, and what is derived from them.
//
// Controllers propose specs in namespace network-config, under the id LAYER/ID. For each ID the spec of the highest layer is written to
// namespace network under ID; only that one is applied.
package network

import (
	"cmp"

	"github.com/seed-59268b81/talos/resources/definition"
	"github.com/seed-59268b81/talos/resources/enum"
)

// Namespaces.
const (
	NamespaceName       = "network"
	ConfigNamespaceName = "network-config"
)

var domain = definition.Domain{Group: "net.talos.dev", Namespace: NamespaceName}

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
	// NodeAddressDefaultID is one address, which stays the same while the machine has it.
	NodeAddressDefaultID = "default"
	// NodeAddressCurrentID are the current addresses.
	NodeAddressCurrentID = "current"
	// NodeAddressRoutedID are the current addresses that other machines can reach.
	NodeAddressRoutedID = "routed"
	// NodeAddressAccumulativeID are all addresses since boot.
	NodeAddressAccumulativeID = "accumulative"
)

// Filters of node addresses: the ids of NodeAddressFilters.
const (
	NodeAddressFilterNoK8s   = "no-k8s"
	NodeAddressFilterOnlyK8s = "only-k8s"
)

// ConfigLayer is where a setting comes from; the highest layer wins.
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

// Compare orders layers; the losing one comes first.
func (l ConfigLayer) Compare(other ConfigLayer) int { return cmp.Compare(l, other) }

// LayeredID is the id of a spec in namespace network-config.
func LayeredID(layer ConfigLayer, id string) string { return layer.String() + "/" + id }
