// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// plan returns the next changes of links. A change that depends on a link that does not exist yet is planned in the next pass, or after the
// event of that link.
func (p *linkPlanner) plan(specs held[network.LinkSpecSpec], now *netlink.Snapshot) plan {
	out := newPlan()

	for index := range p.changed {
		if !slices.ContainsFunc(now.Links, func(l netlink.Link) bool { return l.Index == index }) {
			delete(p.changed, index)
		}
	}

	p.up = map[string]bool{}
	for _, l := range now.Links {
		p.up[l.Name] = l.Up()
	}

	p.links = noteLinks(p.links, specs, now, func(s network.LinkSpecSpec) string { return s.Name })

	p.planLeft(&out, specs, now)

	type tag struct {
		parent   string
		id       uint16
		protocol nethelpers.VLANProtocol
	}

	var (
		owners = map[uint32]string{}
		tags   = map[tag]string{}
		peers  = map[string]bool{} // ends of pairs that are created with the other end
	)

	for _, s := range inOrder(specs.wanted, now) {
		spec := s.spec

		if len(spec.Name) > netlink.MaxName {
			out.say(s.id, network.SpecRefused, fmt.Sprintf("the name %s is longer than the kernel's %d bytes", spec.Name, netlink.MaxName))

			continue
		}

		if spec.Kind == network.LinkKindVLAN {
			key := tag{spec.ParentName, spec.VLAN.VID, spec.VLAN.Protocol}
			if owner := tags[key]; owner != "" {
				out.say(s.id, network.SpecConflict, fmt.Sprintf("VLAN %d of link %s is already used by %s", key.id, key.parent, owner))

				continue
			}

			tags[key] = s.id
		}

		l, exists := now.Link(spec.Name)

		if owner := owners[l.Index]; exists && owner != "" {
			out.say(s.id, network.SpecConflict, "the link is already configured by "+owner)

			continue
		}

		if exists {
			owners[l.Index] = s.id
		}

		switch {
		case exists && spec.Logical && asCard(l, p.platform).Kind == "":
			out.say(s.id, network.SpecConflict, "a network card has the name "+spec.Name)
		case exists && spec.Logical && l.Kind != spec.Kind:
			out.remove(s.id, l) // the next reconcile creates it again
		case exists:
			p.planChange(&out, s, l, now)
		case peers[spec.Name]:
			out.say(s.id, network.SpecWaiting, "it is created with the other end of its pair")
		case spec.Logical:
			p.planNew(&out, s, now)

			peers[spec.Veth.PeerName] = spec.Kind == network.LinkKindVeth
		default:
			out.say(s.id, network.SpecWaiting, "the link does not exist")
		}
	}

	return out
}

// planLeft undoes what specs that are no more have set, and what wanted specs have set on links that they do not mean any more. A link that
// another spec means now is left to that.
func (p *linkPlanner) planLeft(out *plan, specs held[network.LinkSpecSpec], now *netlink.Snapshot) {
	meant := map[uint32]bool{}

	for _, s := range specs.wanted {
		if l, ok := now.Link(s.spec.Name); ok {
			meant[l.Index] = true
		}
	}

	for _, s := range parentsFirst(specs.leaving) {
		for _, l := range p.links.links(now, s.id) {
			if s.spec.Logical || !meant[l.Index] {
				p.planRemoval(out, s, l, now)
			}
		}
	}

	for _, s := range specs.wanted {
		if s.spec.Logical { // it has its own name
			continue
		}

		for _, l := range p.links.left(now, s.id, s.spec.Name) {
			planned := len(out.steps)

			if !meant[l.Index] {
				p.planRemoval(out, s, l, now)
			}

			if len(out.steps) == planned {
				p.links.forget(s.id, l.Index)
			}
		}
	}
}

func (p *plan) remove(id string, l netlink.Link) {
	p.add(id, "remove "+l.Kind+" link "+l.Name, func(k netlink.Kernel) error { return k.DeleteLink(l.Index) })
}

func (p *plan) change(id, what string, l netlink.Link, change netlink.LinkChange) {
	p.add(id, "link "+l.Name+": "+what, func(k netlink.Kernel) error { return k.SetLink(l.Index, change) })
}

// planRemoval deletes a logical link; on a physical link it undoes the settings.
func (p *linkPlanner) planRemoval(out *plan, s item[network.LinkSpecSpec], l netlink.Link, now *netlink.Snapshot) {
	if s.spec.Logical {
		if l.Kind == s.spec.Kind {
			out.remove(s.id, l)
		}

		return
	}

	s.spec.BondSlave, s.spec.BridgeSlave, s.spec.VRFSlave, s.spec.MTU = network.BondSlave{}, network.BridgeSlave{}, network.VRFSlave{}, 0
	s.spec.Multicast, s.spec.HardwareAddress = nil, nil
	p.planMTU(out, s, l)
	p.planAddress(out, s, l, now)
	p.planMulticast(out, s, l)
	p.leaveMaster(out, s.id, l)
}

// planNew creates a link, up and with its master where the kernel can do that in one request. What remains is planned in the next pass, such
// as the MTU, because the one that the kernel chooses is restored when the setting goes.
func (p *linkPlanner) planNew(out *plan, s item[network.LinkSpecSpec], now *netlink.Snapshot) {
	spec := s.spec
	n := netlink.NewLink{Name: spec.Name, Kind: spec.Kind, Up: spec.Up && len(spec.HardwareAddress) == 0 && spec.BondSlave.MasterName == ""}

	switch spec.Kind {
	case network.LinkKindVLAN:
		parent, ok := now.Link(spec.ParentName)

		if !ok {
			out.say(s.id, network.SpecWaiting, "parent link "+spec.ParentName+" does not exist")

			return
		}

		n.Up = n.Up && p.up[parent.Name]
		n.Parent, n.VLAN = parent.Index, &netlink.VLAN{ID: spec.VLAN.VID, Protocol: uint16(spec.VLAN.Protocol)}
	case network.LinkKindBridge:
		n.Bridge = bridgeOf(spec)
	case network.LinkKindBond:
		n.Bond, n.Up = bondOf(spec, now), false // it gets its slaves first
	case network.LinkKindWireguard:
		n.Up = false // it gets its keys first
	case network.LinkKindVRF:
		n.VRF = &netlink.VRF{Table: uint32(spec.VRFMaster.Table)}
	case network.LinkKindVeth:
		if _, exists := now.Link(spec.Veth.PeerName); exists {
			out.say(s.id, network.SpecConflict, "a link with the name of the peer, "+spec.Veth.PeerName+", exists")

			return
		}

		n.VethPeer = spec.Veth.PeerName
	}

	if master, ok := now.Link(spec.MasterName()); ok && spec.BondSlave.MasterName == "" {
		n.Master = master.Index
	}

	out.add(s.id, "create "+spec.Kind+" link "+spec.Name, func(k netlink.Kernel) error {
		err := k.CreateLink(n)
		if n.Up && errors.Is(err, unix.ENETDOWN) { // its parent is not up after all
			n.Up = false
			err = k.CreateLink(n)
		}

		return err
	})
}

// planChange compares an existing link with its spec.
func (p *linkPlanner) planChange(out *plan, s item[network.LinkSpecSpec], l netlink.Link, now *netlink.Snapshot) {
	spec := s.spec

	if another(spec, l, now) {
		out.remove(s.id, l)

		return
	}

	if spec.Kind == network.LinkKindBridge && !reflect.DeepEqual(l.Bridge, bridgeOf(spec)) {
		out.change(s.id, "bridge settings", l, netlink.LinkChange{Kind: spec.Kind, Bridge: bridgeOf(spec), BridgeNow: l.Bridge})
	}

	if spec.Kind == network.LinkKindBond && l.Bond != nil && p.planBond(out, s, l, now) {
		return
	}

	if spec.Kind == network.LinkKindWireguard {
		p.planWireGuard(out, s, l)
	}

	p.planMTU(out, s, l)

	p.planAddress(out, s, l, now)

	p.planMaster(out, s, l, now)

	p.planMulticast(out, s, l)

	if spec.Up != l.Up() {
		out.change(s.id, direction(spec.Up), l, netlink.LinkChange{Up: &spec.Up})
	}

	p.up[l.Name] = spec.Up
}

// another reports whether a link differs from its spec in what cannot be changed, so that it is created again.
func another(spec network.LinkSpecSpec, l netlink.Link, now *netlink.Snapshot) bool {
	switch {
	case spec.Kind == network.LinkKindVLAN && l.VLAN != nil:
		parent, ok := now.Link(spec.ParentName)
		protocol := l.VLAN.Protocol != 0 && l.VLAN.Protocol != uint16(spec.VLAN.Protocol)

		return ok && (l.VLAN.ID != spec.VLAN.VID || protocol || l.Parent != parent.Index)
	case spec.Kind == network.LinkKindVRF && l.VRF != nil:
		return l.VRF.Table != uint32(spec.VRFMaster.Table)
	case spec.Kind == network.LinkKindVeth:
		peer, ok := now.Link(spec.Veth.PeerName)

		return !ok || l.Parent != peer.Index
	default:
		return false
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}

	return "off"
}

func direction(up bool) string {
	if up {
		return "up"
	}

	return "down"
}

// planMaster makes the link part of its bond, bridge or VRF.
func (p *linkPlanner) planMaster(out *plan, s item[network.LinkSpecSpec], l netlink.Link, now *netlink.Snapshot) {
	name := s.spec.MasterName()
	if name == "" {
		p.leaveMaster(out, s.id, l)

		return
	}

	master, ok := now.Link(name)

	switch {
	case !ok:
		out.say(s.id, network.SpecWaiting, "master link "+name+" does not exist")

		return
	case l.Master == master.Index:
		p.noteMaster(l.Index, master.Index)

		return
	}

	// A bond accepts only links that are down. It is one step, so that a link that the bond refuses is up again, and is seldom taken
	// down.
	cycle := l.Up() && s.spec.BondSlave.MasterName != ""

	out.add(s.id, "link "+l.Name+": master "+name, func(k netlink.Kernel) error {
		return whileDown(k, l, cycle, netlink.LinkChange{Master: &master.Index}, func() { p.noteMaster(l.Index, master.Index) })
	})
	out.steps[len(out.steps)-1].disturbs = cycle
}

func (p *linkPlanner) noteMaster(index, master uint32) {
	c := p.changed[index]
	c.master = master
	p.changed[index] = c
}

// leaveMaster removes a link from the master that was set here; it does not change a master that another program set.
func (p *linkPlanner) leaveMaster(out *plan, id string, l netlink.Link) {
	c := p.changed[l.Index]
	if l.Master == 0 || l.Master != c.master {
		return
	}

	none := uint32(0)
	out.change(id, "no master", l, netlink.LinkChange{Master: &none})
}

func bridgeOf(spec network.LinkSpecSpec) *netlink.Bridge {
	return &netlink.Bridge{STP: spec.BridgeMaster.STP.Enabled, VLANFiltering: spec.BridgeMaster.VLAN.FilteringEnabled}
}
