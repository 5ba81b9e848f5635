// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var linkStatusDefinition = domain.Alias("link", "links").Type("LinkStatuses",
	"Alias={.alias}", "Type={.type}", "Kind={.kind}", "Hw Addr={.hardwareAddr}", "Oper State={.operationalState}", "Link State={.linkState}")

// LinkStatusSpec is a link as the kernel has it.
type LinkStatusSpec struct {
	Alias            string                      `yaml:"alias,omitempty" protobuf:"31"`
	AltNames         []string                    `yaml:"altNames,omitempty" protobuf:"32"`
	Index            uint32                      `yaml:"index" protobuf:"1"`
	Type             nethelpers.LinkType         `yaml:"type" protobuf:"2"`
	LinkIndex        uint32                      `yaml:"linkIndex" protobuf:"3"`
	Flags            nethelpers.LinkFlags        `yaml:"flags" protobuf:"4"`
	HardwareAddr     nethelpers.HardwareAddr     `yaml:"hardwareAddr" protobuf:"5"`
	PermanentAddr    nethelpers.HardwareAddr     `yaml:"permanentAddr,omitempty" protobuf:"30"`
	BroadcastAddr    nethelpers.HardwareAddr     `yaml:"broadcastAddr,omitempty" protobuf:"6"`
	MTU              uint32                      `yaml:"mtu" protobuf:"7"`
	QueueDisc        string                      `yaml:"queueDisc" protobuf:"8"`
	MasterIndex      uint32                      `yaml:"masterIndex,omitempty" protobuf:"9"`
	OperationalState nethelpers.OperationalState `yaml:"operationalState" protobuf:"10"`
	Kind             string                      `yaml:"kind" protobuf:"11"`
	SlaveKind        string                      `yaml:"slaveKind" protobuf:"12"`
	BusPath          string                      `yaml:"busPath,omitempty" protobuf:"13"`
	PCIID            string                      `yaml:"pciID,omitempty" protobuf:"14"`
	Driver           string                      `yaml:"driver,omitempty" protobuf:"15"`
	DriverVersion    string                      `yaml:"driverVersion,omitempty" protobuf:"16"`
	FirmwareVersion  string                      `yaml:"firmwareVersion,omitempty" protobuf:"17"`
	ProductID        string                      `yaml:"productID,omitempty" protobuf:"18"`
	VendorID         string                      `yaml:"vendorID,omitempty" protobuf:"19"`
	Product          string                      `yaml:"product,omitempty" protobuf:"20"`
	Vendor           string                      `yaml:"vendor,omitempty" protobuf:"21"`
	LinkState        bool                        `yaml:"linkState" protobuf:"22"`
	SpeedMegabits    int                         `yaml:"speedMbit,omitempty" protobuf:"23"`
	Port             nethelpers.Port             `yaml:"port" protobuf:"24"`
	Duplex           nethelpers.Duplex           `yaml:"duplex" protobuf:"25"`
	VLAN             VLANSpec                    `yaml:"vlan,omitempty" protobuf:"26"`
	BridgeMaster     BridgeMasterSpec            `yaml:"bridgeMaster,omitempty" protobuf:"27"`
	BondMaster       BondMasterSpec              `yaml:"bondMaster,omitempty" protobuf:"28"`
	Wireguard        WireguardSpec               `yaml:"wireguard,omitempty" protobuf:"29"`
	VRFMaster        VRFMasterSpec               `yaml:"vrfMaster,omitempty" protobuf:"33"`
	Veth             VethSpec                    `yaml:"veth,omitempty" protobuf:"34"`
}

// Definition implements resource.Spec.
func (LinkStatusSpec) Definition() *resource.Definition { return linkStatusDefinition }

// Physical reports whether the link is a network card: of type Ethernet, and not created by software.
func (s LinkStatusSpec) Physical() bool {
	return s.Type == nethelpers.LinkTypeEther && s.Kind == ""
}

// Permanent returns the card's permanent hardware address, or the current one if the kernel knows no other.
func (s LinkStatusSpec) Permanent() nethelpers.HardwareAddr {
	if len(s.PermanentAddr) > 0 {
		return s.PermanentAddr
	}

	return s.HardwareAddr
}
