// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// VRFConfig creates a VRF: links whose traffic has a routing table of its own.
type VRFConfig struct {
	document.Named `yaml:",inline"`
	// Hardware address of the VRF; without one the kernel chooses it.
	HardwareAddr value.HardwareAddr `yaml:"hardwareAddr,omitempty"`
	// The links whose traffic uses the table.
	Links []value.LinkName `yaml:"links,omitempty"`
	// The routing table.
	Table RoutingTable `yaml:"table" required:"true"`

	LinkSettings `yaml:",inline"`
}

var vrf = document.Of[VRFConfig]("VRFConfig", `apiVersion: v1alpha1
kind: VRFConfig
name: vrf-blue
links:
    - eth1
table: "123"
`)

// Validate implements document.Validator.
func (v *VRFConfig) Validate(r *document.Report) {
	v.validate(r, "")
	unique(r, "links", v.Links)
}
