// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// VLANConfig creates a link for one VLAN of another link.
type VLANConfig struct {
	document.Named `yaml:",inline"`
	// The number of the VLAN.
	VLANID uint16 `yaml:"vlanID" required:"true" range:"1,4094"`
	// The protocol of the tags.
	VLANMode VLANMode `yaml:"vlanMode,omitempty"`
	// The link that carries the VLAN.
	Parent value.LinkName `yaml:"parent" required:"true"`

	LinkSettings `yaml:",inline"`
}

// VLANMode is a protocol of VLAN tags.
type VLANMode string

// The protocols.
const (
	// VLANMode8021Q is the usual one.
	VLANMode8021Q VLANMode = "802.1q"
	// VLANMode8021AD is for VLANs that carry VLANs.
	VLANMode8021AD VLANMode = "802.1ad"
)

// Values implements document.Enum.
func (VLANMode) Values() []string { return document.EnumOf(VLANMode8021Q, VLANMode8021AD) }

var vlan = document.Of[VLANConfig]("VLANConfig", `apiVersion: v1alpha1
kind: VLANConfig
name: eth0.100
vlanID: 100
parent: eth0
addresses:
    - address: 192.0.2.10/24
`)

// Validate implements document.Validator.
func (v *VLANConfig) Validate(r *document.Report) {
	v.validate(r, "")

	if string(v.Parent) == v.DocName {
		r.Wrong("parent", "a VLAN cannot be its own parent")
	}
}
