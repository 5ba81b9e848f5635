// SPDX-License-Identifier: Apache-2.0

package network

import (
	"regexp"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nic"
	"github.com/seed-59268b81/talos/sys/platform"
)

// LinkStatusController shows the kernel's links, and of physical ones what the hardware says.
func LinkStatusController(d *Deps) controller.Controller {
	return &observer[network.LinkStatusSpec]{
		name: "network.LinkStatusController", kernel: d.Kernel, groups: netlink.WatchLinks,
		observe: func() (map[string]network.LinkStatusSpec, error) {
			links, err := d.Kernel.Links()
			if err != nil {
				return nil, err
			}

			names := map[uint32]string{}
			for _, l := range links {
				names[l.Index] = l.Name
			}

			out := make(map[string]network.LinkStatusSpec, len(links))

			for _, l := range links {
				out[l.Name] = linkStatus(asCard(l, d.Platform), names, d.Probe)
			}

			return out, nil
		},
	}
}

// givenCard is the name of a card that whoever started a container made for it: the end of a tap, veth, macvlan or ipvlan.
var givenCard = regexp.MustCompile(`^eth[0-9]+$`)

// asCard returns a link as the machine sees it: what stands in for a network card is one, although software made it.
func asCard(l netlink.Link, p platform.Platform) netlink.Link {
	if !p.Owns(platform.NetworkCards) && givenCard.MatchString(l.Name) && slices.Contains([]string{"tun", "veth", "macvlan", "ipvlan"}, l.Kind) {
		l.Kind = ""
	}

	return l
}

func linkStatus(l netlink.Link, names map[uint32]string, probe func(string, uint32) nic.Info) network.LinkStatusSpec {
	s := network.LinkStatusSpec{
		Alias: l.Alias, AltNames: l.AltNames, Index: l.Index, Type: nethelpers.LinkType(l.Type), LinkIndex: l.Parent,
		Flags: nethelpers.LinkFlags(l.Flags), HardwareAddr: l.Address, PermanentAddr: l.PermanentAddress, BroadcastAddr: l.Broadcast,
		MTU: l.MTU, QueueDisc: l.QueueDisc, MasterIndex: l.Master, OperationalState: nethelpers.OperationalState(l.OperState),
		Kind: l.Kind, SlaveKind: l.SlaveKind, LinkState: l.Carrier(), Port: nethelpers.PortOther, Duplex: nethelpers.DuplexUnknown,
	}

	if l.VLAN != nil {
		s.VLAN = network.VLANSpec{VID: l.VLAN.ID, Protocol: nethelpers.VLANProtocol(l.VLAN.Protocol)}
	}

	if l.Bridge != nil {
		s.BridgeMaster = network.BridgeMasterSpec{
			STP: network.STPSpec{Enabled: l.Bridge.STP}, VLAN: network.BridgeVLANSpec{FilteringEnabled: l.Bridge.VLANFiltering},
		}
	}

	if l.Bond != nil {
		s.BondMaster = bondStatus(l.Bond, names)
	}

	if s.Physical() && probe != nil {
		info := probe(l.Name, l.Index)

		s.BusPath, s.PCIID, s.VendorID, s.ProductID = info.BusPath, info.PCIID, info.VendorID, info.ProductID
		s.Driver, s.DriverVersion, s.FirmwareVersion = info.Driver, info.DriverVersion, info.FirmwareVersion
		s.SpeedMegabits, s.Port, s.Duplex = info.SpeedMbit, nethelpers.Port(info.Port), nethelpers.Duplex(info.Duplex)
	}

	return s
}

func bondStatus(b *netlink.Bond, names map[uint32]string) network.BondMasterSpec {
	return network.BondMasterSpec{
		Mode: nethelpers.BondMode(b.Mode), HashPolicy: nethelpers.BondXmitHashPolicy(b.XmitHashPolicy), LACPRate: nethelpers.LACPRate(b.LACPRate),
		ARPValidate: nethelpers.ARPValidate(b.ARPValidate), ARPAllTargets: nethelpers.ARPAllTargets(b.ARPAllTargets),
		PrimaryIndex: b.Primary, Primary: names[b.Primary], PrimaryReselect: nethelpers.PrimaryReselect(b.PrimaryReselect),
		FailOverMAC: nethelpers.FailOverMAC(b.FailOverMAC), ADSelect: nethelpers.ADSelect(b.ADSelect),
		MIIMon: b.MIIMon, UpDelay: b.UpDelay, DownDelay: b.DownDelay, ARPInterval: b.ARPInterval, ResendIGMP: b.ResendIGMP,
		MinLinks: b.MinLinks, LPInterval: b.LPInterval, PacketsPerSlave: b.PacketsPerSlave, NumPeerNotif: b.NumPeerNotif,
		TLBDynamicLB: b.TLBDynamicLB, AllSlavesActive: b.AllSlavesActive, UseCarrier: b.UseCarrier,
		ADActorSysPrio: b.ADActorSysPrio, ADUserPortKey: b.ADUserPortKey, PeerNotifyDelay: b.PeerNotifyDelay,
		ARPIPTargets: slices.Clone(b.ARPIPTargets), NSIP6Targets: slices.Clone(b.NSIP6Targets),
		ADLACPActive: nethelpers.ADLACPActive(b.ADLACPActive), MissedMax: b.MissedMax,
	}
}
