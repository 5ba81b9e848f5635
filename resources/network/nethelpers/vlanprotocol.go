// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// VLANProtocol is the EtherType of a VLAN tag.
type VLANProtocol uint16

// The VLAN protocols.
const (
	VLANProtocol8021Q  VLANProtocol = 0x8100
	VLANProtocol8021AD VLANProtocol = 0x88a8
)

var vlanProtocolNames = enum.Names[VLANProtocol]{
	VLANProtocol8021Q:  "802.1q",
	VLANProtocol8021AD: "802.1ad",
}

func (v VLANProtocol) String() string               { return vlanProtocolNames.Text(v) }
func (v VLANProtocol) MarshalText() ([]byte, error) { return vlanProtocolNames.Marshal(v) }
func (v *VLANProtocol) UnmarshalText(text []byte) error {
	return vlanProtocolNames.Parse("VLAN protocol", text, v)
}
