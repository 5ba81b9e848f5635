// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"reflect"
	"slices"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// planBond compares a bond with its spec, and reports whether it is removed, to be created again.
func (p *linkPlanner) planBond(out *plan, s item[network.LinkSpecSpec], l netlink.Link, now *netlink.Snapshot) (removed bool) {
	want := bondOf(s.spec, now)

	// The kernel accepts only a slave as the primary.
	if primary, ok := now.Link(s.spec.BondMaster.Primary); s.spec.BondMaster.Primary != "" && (!ok || primary.Master != l.Index) {
		want.Primary = l.Bond.Primary

		out.say(s.id, network.SpecWaiting, "primary link "+s.spec.BondMaster.Primary+" is not part of bond "+l.Name)
	}

	change, err := want.Change(l.Bond)

	switch {
	case err != nil:
		out.say(s.id, network.SpecRefused, err.Error())

		return false
	case change.Empty():
		return false
	case change.Remake:
		out.remove(s.id, l)

		return true
	}

	c := p.changed[l.Index]
	if reflect.DeepEqual(c.bond, want) {
		// It was set, and the driver changed it: it must not be set again with each event of this change.
		out.say(s.id, network.SpecRefused, "the driver of bond "+l.Name+" has not accepted all settings")

		return false
	}

	cycle := change.Down && l.Up()

	out.add(s.id, "link "+l.Name+": bond settings", func(k netlink.Kernel) error {
		return whileDown(k, l, cycle, netlink.LinkChange{Kind: s.spec.Kind, Bond: want, BondNow: l.Bond}, func() {
			c := p.changed[l.Index]
			c.bond = want
			p.changed[l.Index] = c
		})
	})
	out.steps[len(out.steps)-1].disturbs = cycle

	return false
}

// whileDown changes a link, and calls done after success. With cycle the link is down during the change.
func whileDown(k netlink.Kernel, l netlink.Link, cycle bool, change netlink.LinkChange, done func()) error {
	up, down := true, false

	if cycle {
		if err := k.SetLink(l.Index, netlink.LinkChange{Up: &down}); err != nil {
			return err
		}
	}

	err := k.SetLink(l.Index, change)
	if err == nil {
		done()
	}

	if cycle {
		err = errors.Join(err, k.SetLink(l.Index, netlink.LinkChange{Up: &up}))
	}

	return err
}

func bondOf(spec network.LinkSpecSpec, now *netlink.Snapshot) *netlink.Bond {
	b := spec.BondMaster
	primary, _ := now.Link(b.Primary)

	out := &netlink.Bond{
		Mode: uint8(b.Mode), XmitHashPolicy: uint8(b.HashPolicy), LACPRate: uint8(b.LACPRate), PrimaryReselect: uint8(b.PrimaryReselect),
		FailOverMAC: uint8(b.FailOverMAC), ADSelect: uint8(b.ADSelect), ADLACPActive: uint8(b.ADLACPActive),
		ARPValidate: uint32(b.ARPValidate), ARPAllTargets: uint32(b.ARPAllTargets), Primary: primary.Index,
		MIIMon: b.MIIMon, UpDelay: b.UpDelay, DownDelay: b.DownDelay, ARPInterval: b.ARPInterval, PeerNotifyDelay: b.PeerNotifyDelay,
		ResendIGMP: b.ResendIGMP, MinLinks: b.MinLinks, LPInterval: b.LPInterval, PacketsPerSlave: b.PacketsPerSlave,
		NumPeerNotif: b.NumPeerNotif, TLBDynamicLB: b.TLBDynamicLB, AllSlavesActive: b.AllSlavesActive, MissedMax: b.MissedMax,
		ADActorSysPrio: b.ADActorSysPrio, ADUserPortKey: b.ADUserPortKey, UseCarrier: b.UseCarrier,
		ARPIPTargets: slices.Clone(b.ARPIPTargets), NSIP6Targets: slices.Clone(b.NSIP6Targets),
	}
	copy(out.ADActorSystem[:], b.ADActorSystem)

	return out
}
