// SPDX-License-Identifier: Apache-2.0

package network

import (
	"bytes"
	"cmp"
	"fmt"
	"net"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// The settings of links here are restored when no spec has them any more.

// planMTU sets the MTU, or restores the original one. An MTU that the driver does not support is not tried.
func (p *linkPlanner) planMTU(out *plan, s item[network.LinkSpecSpec], l netlink.Link) {
	want, before := s.spec.MTU, p.changed[l.Index]

	switch {
	case want != 0 && (want < l.MinMTU || l.MaxMTU != 0 && want > l.MaxMTU):
		out.say(s.id, network.SpecRefused, fmt.Sprintf("the driver of link %s supports MTUs from %d to %d, not %d", l.Name, l.MinMTU, l.MaxMTU, want))

		return
	case want == 0 && before.mtu == l.MTU:
		want = before.original
	}

	if want == 0 || want == l.MTU {
		return
	}

	next := before
	if before.mtu == 0 {
		next.original = l.MTU
	}

	next.mtu = want
	if want == next.original {
		next.mtu = 0
	}

	out.add(s.id, fmt.Sprintf("link %s: MTU %d", l.Name, want), func(k netlink.Kernel) error {
		err := k.SetLink(l.Index, netlink.LinkChange{MTU: &want})
		if err == nil {
			changed := p.changed[l.Index]
			changed.mtu, changed.original = next.mtu, next.original
			p.changed[l.Index] = changed
		}

		return err
	})
}

// planMulticast sets whether the link receives multicast, or restores it.
func (p *linkPlanner) planMulticast(out *plan, s item[network.LinkSpecSpec], l netlink.Link) {
	c := p.changed[l.Index]
	want := cmp.Or(s.spec.Multicast, c.multicast)

	if want == nil || *want == l.Multicast() {
		if s.spec.Multicast == nil && want != nil { // it is as it was: another program may change it
			c.multicast = nil
			p.changed[l.Index] = c
		}

		return
	}

	before := l.Multicast()
	c.multicast = cmp.Or(c.multicast, &before)

	out.add(s.id, "link "+l.Name+": multicast "+onOff(*want), func(k netlink.Kernel) error {
		err := k.SetLink(l.Index, netlink.LinkChange{Multicast: want})
		if err == nil {
			changed := p.changed[l.Index]
			changed.multicast = c.multicast
			p.changed[l.Index] = changed
		}

		return err
	})
}

// planAddress sets the hardware address, or restores the one before. A bond gets that of a slave, as the kernel gives it to a bond
// without an address of its own.
func (p *linkPlanner) planAddress(out *plan, s item[network.LinkSpecSpec], l netlink.Link, now *netlink.Snapshot) {
	c, want := p.changed[l.Index], []byte(s.spec.HardwareAddress)
	restores := len(want) == 0

	if restores && len(c.address) > 0 {
		want = addressBefore(c, l, now)
	}

	if len(want) == 0 || bytes.Equal(want, l.Address) {
		if restores && len(want) > 0 { // it is as it was: another program may change it
			c.address = nil
			p.changed[l.Index] = c
		}

		return
	}

	before := c.address
	if len(before) == 0 {
		before = l.Address
	}

	out.add(s.id, fmt.Sprintf("link %s: hardware address %s", l.Name, net.HardwareAddr(want)), func(k netlink.Kernel) error {
		err := k.SetLink(l.Index, netlink.LinkChange{Address: want})
		if err == nil {
			changed := p.changed[l.Index]
			changed.address = before
			p.changed[l.Index] = changed
		}

		return err
	})
}

// addressBefore returns the hardware address of a link whose own one goes.
func addressBefore(c changedLink, l netlink.Link, now *netlink.Snapshot) []byte {
	if l.Kind == network.LinkKindBond {
		for _, slave := range now.Links {
			if slave.Master == l.Index && len(slave.PermanentAddress) > 0 {
				return slave.PermanentAddress
			}
		}
	}

	return c.address
}
