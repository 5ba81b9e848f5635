// SPDX-License-Identifier: Apache-2.0

package network

import (
	"reflect"
	"regexp"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nic"
	"github.com/seed-59268b81/talos/sys/platform"
)

// linkStatusController publishes the kernel's links, and for physical links the properties of the card. A card is probed again only when
// its link has changed, because that takes several calls of the driver.
func linkStatusController(kernel *netlink.Observer, d *Deps) controller.Controller {
	probed := map[uint32]probedLink{}

	return &observer[network.LinkStatusSpec]{
		declared: declared{name: "network.LinkStatusController", writes: []controller.Output{controller.Out[network.LinkStatusSpec](controller.Exclusive)}},
		kernel:   kernel,
		what:     netlink.WatchLinks,
		observe: func(now *netlink.Snapshot) map[string]network.LinkStatusSpec {
			names, seen := now.LinkNames(), map[uint32]probedLink{}
			out := make(map[string]network.LinkStatusSpec, len(now.Links))

			for _, l := range now.Links {
				status := linkStatus(asCard(l, d.Platform), names)

				if status.Physical() && d.Probe != nil {
					card, ok := probed[l.Index]
					if !ok || !reflect.DeepEqual(card.link, l) {
						card = probedLink{l, d.Probe(l.Name, l.Index)}
					}

					seen[l.Index] = card
					describeCard(&status, card.info)
				}

				out[l.Name] = status
			}

			probed = seen

			return out
		},
	}
}

// probedLink has the properties of a card, and its link at that time.
type probedLink struct {
	link netlink.Link
	info nic.Info
}

func describeCard(s *network.LinkStatusSpec, i nic.Info) {
	s.BusPath, s.PCIID, s.VendorID, s.ProductID = i.BusPath, i.PCIID, i.VendorID, i.ProductID
	s.Driver, s.DriverVersion, s.FirmwareVersion = i.Driver, i.DriverVersion, i.FirmwareVersion
	s.SpeedMegabits, s.Port, s.Duplex = i.SpeedMbit, nethelpers.Port(i.Port), nethelpers.Duplex(i.Duplex)
}

// givenCard matches the name of a card that a container engine creates for the container: the end of a tap, veth, macvlan or ipvlan.
var givenCard = regexp.MustCompile(`^eth[0-9]+$`)

// asCard returns a link as the machine uses it: a link that replaces a network card has no kind, although software created it.
func asCard(l netlink.Link, p platform.Platform) netlink.Link {
	if !p.Owns(platform.NetworkCards) && givenCard.MatchString(l.Name) && slices.Contains([]string{"tun", "veth", "macvlan", "ipvlan"}, l.Kind) {
		l.Kind = ""
	}

	return l
}

func linkStatus(l netlink.Link, names map[uint32]string) network.LinkStatusSpec {
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

	if l.VRF != nil {
		s.VRFMaster.Table = nethelpers.RoutingTable(l.VRF.Table)
	}

	if l.WireGuard != nil {
		s.Wireguard = wireguardStatus(l.WireGuard)
	}

	if l.Kind == network.LinkKindVeth {
		s.Veth.PeerName = names[l.Parent] // of a peer in another network namespace there is no name
	}

	if l.Bond != nil {
		s.BondMaster = bondStatus(l.Bond, names)
	}

	return s
}

func bondStatus(b *netlink.Bond, names map[uint32]string) network.BondMasterSpec {
	s := network.BondMasterSpec{
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

	if b.ADActorSystem != [6]byte{} {
		s.ADActorSystem = slices.Clone(b.ADActorSystem[:])
	}

	return s
}
