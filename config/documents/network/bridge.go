// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// BridgeConfig creates a bridge: a switch of which the links are the ports.
type BridgeConfig struct {
	document.Named `yaml:",inline"`
	// Hardware address of the bridge; without one the kernel chooses it.
	HardwareAddr value.HardwareAddr `yaml:"hardwareAddr,omitempty"`
	// The ports of the bridge. They have no addresses of their own.
	Links []value.LinkName `yaml:"links,omitempty"`
	// The spanning tree protocol.
	STP BridgeSTP `yaml:"stp,omitempty"`
	// VLANs on the ports.
	VLAN BridgeVLAN `yaml:"vlan,omitempty"`

	LinkSettings `yaml:",inline"`
}

// BridgeSTP is the spanning tree protocol of a bridge.
type BridgeSTP struct {
	// Whether the bridge takes part in the spanning tree.
	Enabled bool `yaml:"enabled,omitempty"`
}

// BridgeVLAN is how a bridge treats VLANs.
type BridgeVLAN struct {
	// Whether the bridge tells VLANs apart.
	Filtering bool `yaml:"filtering,omitempty"`
}

var bridge = document.Of[BridgeConfig]("BridgeConfig", `apiVersion: v1alpha1
kind: BridgeConfig
name: br0
links:
    - eth0
stp:
    enabled: true
`)

// Validate implements document.Validator.
func (b *BridgeConfig) Validate(r *document.Report) {
	b.validate(r, "")
	unique(r, "links", b.Links)
}
