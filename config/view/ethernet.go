// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Types of the settings of network cards.
type (
	Ethernet         = network.EthernetConfig
	EthernetRings    = network.EthernetRings
	EthernetChannels = network.EthernetChannels
)

// Ethernet are the settings of network cards, by the names of their documents.
func (c *Config) Ethernet() []*Ethernet { return config.All[*network.EthernetConfig](c.all) }
