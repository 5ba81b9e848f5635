// SPDX-License-Identifier: Apache-2.0

// Package netgroup maps addresses to hosts, for limits per host.
package netgroup

import (
	"net"
	"net/netip"
)

// Of returns the prefix that counts as one host: an IPv4 address, or the /64 of an IPv6 host, which may use any address in it. An
// invalid address counts as one host too: the zero prefix.
func Of(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")

	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}

	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}

	return prefix
}

// OfPeer returns the host at the other end of a TCP connection.
func OfPeer(addr net.Addr) netip.Prefix {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return Of(tcp.AddrPort().Addr())
	}

	return netip.Prefix{}
}
