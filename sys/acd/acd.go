// SPDX-License-Identifier: Apache-2.0

// Package acd sees which machines on a link use which IPv4 addresses, so that one that two use is noticed (RFC 5227). It sends
// probes, which no machine takes for more than a question, and listens to all ARP packets that the machine gets; it defends nothing and gives
// nothing up. What is made of it is decided by its callers. IPv6 has this in the kernel.
//
// It reads the one fixed form of ARP packets that there is on Ethernet by itself: a library for ARP would bring a resolver and caches, of
// which nothing is used.
package acd

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Use is an address that a machine on a link said it has.
type Use struct {
	Link uint32
	Addr netip.Addr
	By   [6]byte
}

// Machine prints who said so.
func (u Use) Machine() string { return net.HardwareAddr(u.By[:]).String() }

// ARP for IPv4 over Ethernet (RFC 826): the header, then hardware and IP address of the sender, and of the target.
const (
	size    = 28
	request = 1
)

var header = [6]byte{0, 1, 8, 0, 6, 4}

// parse reads who sends a packet. A probe has no sender's address: whoever sends it does not have the address yet.
func parse(packet []byte) (addr netip.Addr, by [6]byte, ok bool) {
	if len(packet) < size || [6]byte(packet[:6]) != header {
		return addr, by, false
	}

	by = [6]byte(packet[8:14])
	addr = netip.AddrFrom4([4]byte(packet[14:18]))

	return addr, by, !addr.IsUnspecified() && by[0]&1 == 0 && by != [6]byte{}
}

// probe asks who has an address, without saying that the sender does.
func probe(from [6]byte, addr netip.Addr) []byte {
	packet := make([]byte, 0, size)
	packet = append(packet, header[:]...)
	packet = binary.BigEndian.AppendUint16(packet, request)
	packet = append(packet, from[:]...)
	packet = append(packet, make([]byte, 4+6)...) // no address of the sender, and the target that is asked for
	target := addr.As4()

	return append(packet, target[:]...)
}
