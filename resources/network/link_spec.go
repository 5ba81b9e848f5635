// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var linkSpecDefinition = domain.Sensitive().Type("LinkSpecs")

// LinkSpecSpec is the wanted state of a link. A logical link is created and removed; of a physical link only the settings are changed.
// A zero MTU, an empty hardware address and no Multicast keep the kernel's.
type LinkSpecSpec struct {
	Name            string                  `yaml:"name" protobuf:"1"`
	Logical         bool                    `yaml:"logical" protobuf:"2"`
	Up              bool                    `yaml:"up" protobuf:"3"`
	MTU             uint32                  `yaml:"mtu" protobuf:"4"`
	Kind            string                  `yaml:"kind" protobuf:"5"`
	Type            nethelpers.LinkType     `yaml:"type" protobuf:"6"`
	Multicast       *bool                   `yaml:"multicast,omitempty" protobuf:"16"`
	HardwareAddress nethelpers.HardwareAddr `yaml:"hardwareAddr,omitempty" protobuf:"15"`
	ParentName      string                  `yaml:"parentName,omitempty" protobuf:"7"`
	BondSlave       BondSlave               `yaml:"bondSlave,omitempty" protobuf:"8"`
	BridgeSlave     BridgeSlave             `yaml:"bridgeSlave,omitempty" protobuf:"9"`
	VLAN            VLANSpec                `yaml:"vlan,omitempty" protobuf:"10"`
	BondMaster      BondMasterSpec          `yaml:"bondMaster,omitempty" protobuf:"11"`
	BridgeMaster    BridgeMasterSpec        `yaml:"bridgeMaster,omitempty" protobuf:"12"`
	Wireguard       WireguardSpec           `yaml:"wireguard,omitempty" protobuf:"13"`
	VRFMaster       VRFMasterSpec           `yaml:"vrfMaster,omitempty" protobuf:"17"`
	VRFSlave        VRFSlave                `yaml:"vrfSlave,omitempty" protobuf:"18"`
	Veth            VethSpec                `yaml:"veth,omitempty" protobuf:"19"`
	Layer           ConfigLayer             `yaml:"layer" protobuf:"14"`
}

// Definition implements resource.Spec.
func (LinkSpecSpec) Definition() *resource.Definition { return linkSpecDefinition }

// ID is the identity of the spec in namespace network.
func (s LinkSpecSpec) ID() string { return s.Name }

// ConfigLayer is the layer that the spec comes from.
func (s LinkSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }

// MasterName returns the bond, bridge or VRF that the link belongs to, or "".
func (s LinkSpecSpec) MasterName() string {
	return cmp.Or(s.BondSlave.MasterName, s.BridgeSlave.MasterName, s.VRFSlave.MasterName)
}

// Kinds of logical links.
const (
	LinkKindVLAN      = "vlan"
	LinkKindBond      = "bond"
	LinkKindBridge    = "bridge"
	LinkKindDummy     = "dummy"
	LinkKindVRF       = "vrf"
	LinkKindVeth      = "veth"
	LinkKindWireguard = "wireguard"
)
