// SPDX-License-Identifier: Apache-2.0

// Package acd detects that two machines on a link use the same IPv4 address (RFC 5227). It sends probes, which claim nothing, and
// listens to all ARP packets that the machine receives. It neither defends nor gives up an address: its callers decide. For IPv6
// the kernel does this.
//
// ARP packets on Ethernet have one fixed form, which this package reads itself: a library for ARP would bring a resolver and
// caches that nothing uses.
package acd

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Use is an address that a machine on a link announced.
type Use struct {
	Link uint32
	Addr netip.Addr
	By   [6]byte
}

// Machine returns the hardware address of that machine.
func (u Use) Machine() string { return net.HardwareAddr(u.By[:]).String() }

// ARP for IPv4 over Ethernet (RFC 826): the header, then hardware and IP address of the sender, and of the target.
const (
	size    = 28
	request = 1
)

var header = [6]byte{0, 1, 8, 0, 6, 4}

// parse returns the sender of a packet. A probe has no sender address: the machine that sends it does not have the address yet.
func parse(packet []byte) (addr netip.Addr, by [6]byte, ok bool) {
	if len(packet) < size || [6]byte(packet[:6]) != header {
		return addr, by, false
	}

	by = [6]byte(packet[8:14])
	addr = netip.AddrFrom4([4]byte(packet[14:18]))

	return addr, by, !addr.IsUnspecified() && by[0]&1 == 0 && by != [6]byte{}
}

// probe returns a packet that asks who has an address and does not claim it.
func probe(from [6]byte, addr netip.Addr) []byte {
	packet := make([]byte, 0, size)
	packet = append(packet, header[:]...)
	packet = binary.BigEndian.AppendUint16(packet, request)
	packet = append(packet, from[:]...)
	packet = append(packet, make([]byte, 4+6)...) // no address of the sender, and the requested hardware address
	target := addr.As4()

	return append(packet, target[:]...)
}

// announcement returns a packet that claims an address.
func announcement(from [6]byte, addr netip.Addr) []byte {
	packet := probe(from, addr)
	copy(packet[14:], addr.AsSlice()) // the sender's address is the one that it asks for

	return packet
}
