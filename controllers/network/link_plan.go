// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// linkStep is one change of the kernel's links.
type linkStep struct {
	create *netlink.NewLink
	// index and change are those of an existing link; name is for errors.
	index  uint32
	change *netlink.LinkChange
	delete bool
	name   string
}

// planLinks returns the next changes that bring links in line with specs; what depends on a link that is not
// there yet comes in a later round. Removed are the specs that are on their way out.
func planLinks(specs, removed []network.LinkSpecSpec, links []netlink.Link) []linkStep {
	byName := map[string]netlink.Link{}
	for _, l := range links {
		byName[l.Name] = l
	}

	var steps []linkStep

	for _, spec := range removed {
		if l, ok := byName[spec.Name]; ok {
			steps = append(steps, planRemoval(spec, l)...)
		}
	}

	for _, spec := range specs {
		l, exists := byName[spec.Name]

		switch {
		case exists && spec.Logical && l.Kind != spec.Kind:
			// The name is taken by a link of another kind; if that is ours too it is made anew in the next round.
			if l.Kind != "" {
				steps = append(steps, linkStep{name: spec.Name, index: l.Index, delete: true})
			}
		case exists:
			steps = append(steps, planChange(spec, l, byName)...)
		case spec.Logical:
			if n, ok := newLink(spec, byName); ok {
				steps = append(steps, linkStep{name: spec.Name, create: n})
			}
		}
	}

	return steps
}

// planRemoval deletes a logical link; of a physical one it only undoes that it is part of another.
func planRemoval(spec network.LinkSpecSpec, l netlink.Link) []linkStep {
	switch {
	case spec.Logical && l.Kind == spec.Kind:
		return []linkStep{{name: spec.Name, index: l.Index, delete: true}}
	case spec.MasterName() != "" && l.Master != 0:
		none := uint32(0)

		return []linkStep{{name: spec.Name, index: l.Index, change: &netlink.LinkChange{Master: &none}}}
	default:
		return nil
	}
}

func newLink(spec network.LinkSpecSpec, byName map[string]netlink.Link) (*netlink.NewLink, bool) {
	n := &netlink.NewLink{Name: spec.Name, Kind: spec.Kind, MTU: spec.MTU}

	switch spec.Kind {
	case network.LinkKindVLAN:
		parent, ok := byName[spec.ParentName]
		if !ok {
			return nil, false
		}

		n.Parent, n.VLAN = parent.Index, &netlink.VLAN{ID: spec.VLAN.VID, Protocol: uint16(spec.VLAN.Protocol)}
	case network.LinkKindBridge:
		n.Bridge = bridgeOf(spec)
	case network.LinkKindBond:
		n.Bond = bondOf(spec, byName)
	}

	return n, true
}

// planChange compares an existing link with its spec.
func planChange(spec network.LinkSpecSpec, l netlink.Link, byName map[string]netlink.Link) []linkStep {
	var steps []linkStep

	do := func(change netlink.LinkChange) {
		steps = append(steps, linkStep{name: spec.Name, index: l.Index, change: &change})
	}

	if spec.Kind == network.LinkKindVLAN && l.VLAN != nil && (l.VLAN.ID != spec.VLAN.VID || l.Parent != byName[spec.ParentName].Index) {
		return []linkStep{{name: spec.Name, index: l.Index, delete: true}} // neither can be changed
	}

	if spec.Kind == network.LinkKindBridge && !reflect.DeepEqual(l.Bridge, bridgeOf(spec)) {
		do(netlink.LinkChange{Kind: spec.Kind, Bridge: bridgeOf(spec)})
	}

	if spec.Kind == network.LinkKindBond && l.Bond != nil && l.Bond.Mode != uint8(spec.BondMaster.Mode) {
		return []linkStep{{name: spec.Name, index: l.Index, delete: true}} // a bond with slaves cannot change its mode
	}

	if spec.MTU != 0 && spec.MTU != l.MTU {
		do(netlink.LinkChange{MTU: &spec.MTU})
	}

	if len(spec.HardwareAddress) > 0 && !bytes.Equal(spec.HardwareAddress, l.Address) {
		do(netlink.LinkChange{Address: spec.HardwareAddress})
	}

	if name := spec.MasterName(); name != "" {
		if master, ok := byName[name]; ok && l.Master != master.Index {
			down := false
			if l.Up() && spec.BondSlave.MasterName != "" { // a bond takes only links that are down
				do(netlink.LinkChange{Up: &down})

				l.Flags &^= 1
			}

			do(netlink.LinkChange{Master: &master.Index})
		}
	}

	if spec.Up != l.Up() {
		do(netlink.LinkChange{Up: &spec.Up})
	}

	return steps
}

func bridgeOf(spec network.LinkSpecSpec) *netlink.Bridge {
	return &netlink.Bridge{STP: spec.BridgeMaster.STP.Enabled, VLANFiltering: spec.BridgeMaster.VLAN.FilteringEnabled}
}

func bondOf(spec network.LinkSpecSpec, byName map[string]netlink.Link) *netlink.Bond {
	b := spec.BondMaster

	return &netlink.Bond{
		Mode: uint8(b.Mode), XmitHashPolicy: uint8(b.HashPolicy), LACPRate: uint8(b.LACPRate), PrimaryReselect: uint8(b.PrimaryReselect),
		FailOverMAC: uint8(b.FailOverMAC), ADSelect: uint8(b.ADSelect), ADLACPActive: uint8(b.ADLACPActive),
		ARPValidate: uint32(b.ARPValidate), ARPAllTargets: uint32(b.ARPAllTargets), Primary: byName[b.Primary].Index,
		MIIMon: b.MIIMon, UpDelay: b.UpDelay, DownDelay: b.DownDelay, ARPInterval: b.ARPInterval, PeerNotifyDelay: b.PeerNotifyDelay,
		ResendIGMP: b.ResendIGMP, MinLinks: b.MinLinks, LPInterval: b.LPInterval, PacketsPerSlave: b.PacketsPerSlave,
		NumPeerNotif: b.NumPeerNotif, TLBDynamicLB: b.TLBDynamicLB, AllSlavesActive: b.AllSlavesActive, MissedMax: b.MissedMax,
		ADActorSysPrio: b.ADActorSysPrio, ADUserPortKey: b.ADUserPortKey, UseCarrier: b.UseCarrier,
		ARPIPTargets: slices.Clone(b.ARPIPTargets), NSIP6Targets: slices.Clone(b.NSIP6Targets),
	}
}

// do makes the change.
func (s linkStep) do(k netlink.Kernel) error {
	var err error

	switch {
	case s.create != nil:
		err = k.CreateLink(*s.create)
	case s.delete:
		err = k.DeleteLink(s.index)
	default:
		err = k.SetLink(s.index, *s.change)
	}

	if err != nil {
		return fmt.Errorf("link %s: %w", s.name, err)
	}

	return nil
}
