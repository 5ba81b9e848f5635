// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// BondSlave makes a link part of a bond.
type BondSlave struct {
	MasterName string `yaml:"masterName" protobuf:"1"`
	SlaveIndex int    `yaml:"slaveIndex" protobuf:"2"`
}

// BridgeSlave makes a link a port of a bridge.
type BridgeSlave struct {
	MasterName string `yaml:"masterName" protobuf:"1"`
}

// VLANSpec are the settings of a tagged link.
type VLANSpec struct {
	VID      uint16                  `yaml:"vlanID" protobuf:"1"`
	Protocol nethelpers.VLANProtocol `yaml:"vlanProtocol" protobuf:"2"`
}

// BridgeMasterSpec are the settings of a bridge.
type BridgeMasterSpec struct {
	STP  STPSpec        `yaml:"stp,omitempty" protobuf:"1"`
	VLAN BridgeVLANSpec `yaml:"vlan,omitempty" protobuf:"2"`
}

// STPSpec switches the spanning tree protocol.
type STPSpec struct {
	Enabled bool `yaml:"enabled" protobuf:"1"`
}

// BridgeVLANSpec switches VLAN filtering.
type BridgeVLANSpec struct {
	FilteringEnabled bool `yaml:"filteringEnabled" protobuf:"1"`
}

// VRFMasterSpec are the settings of a VRF.
type VRFMasterSpec struct {
	Table nethelpers.RoutingTable `yaml:"table" protobuf:"1"`
}

// VRFSlave makes a link part of a VRF.
type VRFSlave struct {
	MasterName string `yaml:"masterName" protobuf:"1"`
}

// VethSpec are the settings of one end of a pair.
type VethSpec struct {
	PeerName string `yaml:"peerName" protobuf:"1"`
}

// BondMasterSpec are the settings of a bond, in the kernel's units.
type BondMasterSpec struct {
	Mode            nethelpers.BondMode           `yaml:"mode" protobuf:"1"`
	HashPolicy      nethelpers.BondXmitHashPolicy `yaml:"xmitHashPolicy" protobuf:"2"`
	LACPRate        nethelpers.LACPRate           `yaml:"lacpRate" protobuf:"3"`
	ARPValidate     nethelpers.ARPValidate        `yaml:"arpValidate" protobuf:"4"`
	ARPAllTargets   nethelpers.ARPAllTargets      `yaml:"arpAllTargets" protobuf:"5"`
	PrimaryIndex    uint32                        `yaml:"primary,omitempty" protobuf:"6"`
	PrimaryReselect nethelpers.PrimaryReselect    `yaml:"primaryReselect" protobuf:"7"`
	FailOverMAC     nethelpers.FailOverMAC        `yaml:"failOverMac" protobuf:"8"`
	ADSelect        nethelpers.ADSelect           `yaml:"adSelect,omitempty" protobuf:"9"`
	MIIMon          uint32                        `yaml:"miimon,omitempty" protobuf:"10"`
	UpDelay         uint32                        `yaml:"updelay,omitempty" protobuf:"11"`
	DownDelay       uint32                        `yaml:"downdelay,omitempty" protobuf:"12"`
	ARPInterval     uint32                        `yaml:"arpInterval,omitempty" protobuf:"13"`
	ResendIGMP      uint32                        `yaml:"resendIgmp,omitempty" protobuf:"14"`
	MinLinks        uint32                        `yaml:"minLinks,omitempty" protobuf:"15"`
	LPInterval      uint32                        `yaml:"lpInterval,omitempty" protobuf:"16"`
	PacketsPerSlave uint32                        `yaml:"packetsPerSlave,omitempty" protobuf:"17"`
	NumPeerNotif    uint8                         `yaml:"numPeerNotif,omitempty" protobuf:"18"`
	TLBDynamicLB    uint8                         `yaml:"tlbLogicalLb,omitempty" protobuf:"19"`
	AllSlavesActive uint8                         `yaml:"allSlavesActive,omitempty" protobuf:"20"`
	UseCarrier      bool                          `yaml:"useCarrier,omitempty" protobuf:"21"`
	ADActorSysPrio  uint16                        `yaml:"adActorSysPrio,omitempty" protobuf:"22"`
	ADUserPortKey   uint16                        `yaml:"adUserPortKey,omitempty" protobuf:"23"`
	PeerNotifyDelay uint32                        `yaml:"peerNotifyDelay,omitempty" protobuf:"24"`
	ARPIPTargets    []netip.Addr                  `yaml:"arpIpTargets,omitempty" protobuf:"25"`
	NSIP6Targets    []netip.Addr                  `yaml:"nsIp6Targets,omitempty" protobuf:"26"`
	ADLACPActive    nethelpers.ADLACPActive       `yaml:"adLacpActive,omitempty" protobuf:"27"`
	MissedMax       uint8                         `yaml:"missedMax,omitempty" protobuf:"28"`
	Primary         string                        `yaml:"primaryName,omitempty" protobuf:"29"`
	// ADActorSystem is empty for the bond's own address. The wire contract has no field for it.
	ADActorSystem nethelpers.HardwareAddr `yaml:"adActorSystem,omitempty"`
}
