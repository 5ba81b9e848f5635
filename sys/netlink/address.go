// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Addresses implements Kernel.
func (c *Conn) Addresses() ([]Address, error) {
	return list(c, "addresses", &rtnetlink.AddressMessage{}, unix.RTM_GETADDR, decodeAddress)
}

func decodeAddress(data []byte) (Address, bool, error) {
	var m rtnetlink.AddressMessage
	if err := m.UnmarshalBinary(data); err != nil || m.Attributes == nil {
		return Address{}, false, err
	}

	at := m.Attributes

	// Local is the own address, and Address the peer's if they differ; IPv6 has only Address.
	own := fromIP(at.Local)
	if !own.IsValid() {
		own = fromIP(at.Address)
	}

	a := Address{
		LinkIndex: m.Index, Prefix: netip.PrefixFrom(own, int(m.PrefixLength)), Scope: m.Scope, Flags: at.Flags | uint32(m.Flags),
		Broadcast: fromIP(at.Broadcast), Anycast: fromIP(at.Anycast), Multicast: fromIP(at.Multicast),
	}

	if peer := fromIP(at.Address); peer != own {
		a.Peer = peer
	}

	ad, err := netlink.NewAttributeDecoder(data[unix.SizeofIfAddrmsg:])
	if err != nil {
		return Address{}, false, err
	}

	for ad.Next() {
		if ad.Type() == unix.IFA_RT_PRIORITY {
			a.Priority = ad.Uint32()
		}
	}

	return a, a.Prefix.IsValid(), ad.Err()
}

// AddAddress implements Kernel. It sets the broadcast address of an IPv4 network with more than two addresses, unless one is given.
func (c *Conn) AddAddress(a Address) error {
	if !a.Broadcast.IsValid() {
		a.Broadcast = broadcast(a.Prefix)
	}

	const add = netlink.Request | netlink.Create | netlink.Acknowledge | netlink.Excl

	if err := c.execute(a, unix.RTM_NEWADDR, add); err != nil {
		return fmt.Errorf("add address %s to link %d: %w", a.Prefix, a.LinkIndex, err)
	}

	return nil
}

// SetAddressPriority implements Kernel.
func (c *Conn) SetAddressPriority(a Address) error {
	const replace = netlink.Request | netlink.Acknowledge | netlink.Replace

	if err := c.execute(a, unix.RTM_NEWADDR, replace); err != nil {
		return fmt.Errorf("set metric %d of address %s on link %d: %w", a.Priority, a.Prefix, a.LinkIndex, err)
	}

	return nil
}

// DeleteAddress implements Kernel.
func (c *Conn) DeleteAddress(a Address) error {
	if err := ignoreMissing(c.rt.Address.Delete(a.message())); err != nil {
		return fmt.Errorf("delete address %s from link %d: %w", a.Prefix, a.LinkIndex, err)
	}

	return nil
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (a Address) MarshalBinary() ([]byte, error) {
	data, err := a.message().MarshalBinary()
	if err != nil || a.Priority == 0 {
		return data, err
	}

	more, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.IFA_RT_PRIORITY, Data: binary.NativeEndian.AppendUint32(nil, a.Priority)},
	})

	return append(data, more...), err
}

func (a Address) message() *rtnetlink.AddressMessage {
	own, peer := toIP(a.Prefix.Addr()), toIP(a.Peer)
	if peer == nil {
		peer = own
	}

	return &rtnetlink.AddressMessage{
		Family: familyOf(a.Prefix.Addr()), PrefixLength: uint8(a.Prefix.Bits()), Scope: a.Scope, Index: a.LinkIndex,
		Attributes: &rtnetlink.AddressAttributes{Address: peer, Local: own, Broadcast: toIP(a.Broadcast), Flags: a.Flags},
	}
}

func familyOf(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}

	return unix.AF_INET6
}

func broadcast(p netip.Prefix) netip.Addr {
	if !p.Addr().Is4() || p.Bits() > 30 {
		return netip.Addr{}
	}

	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}

	return netip.AddrFrom4(b)
}

// Same reports whether both are one address for the kernel. It has each IPv4 prefix once on a link, and each IPv6 address once, whatever the
// length of its network.
func (a Address) Same(b Address) bool {
	if a.LinkIndex != b.LinkIndex {
		return false
	}

	return a.Prefix == b.Prefix || a.Prefix.Addr().Is6() && a.Prefix.Addr() == b.Prefix.Addr()
}
