// SPDX-License-Identifier: Apache-2.0

package nd

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/net/ipv6"
)

// From RFC 4861, 4.4.
const (
	advertisement = 136
	override      = 0x20 // what others know about the address is replaced
	targetAddress = 2    // the option with the hardware address
)

// Announce tells all machines on a link that this one has an address, with an unsolicited neighbor advertisement.
func Announce(index int, from [6]byte, addr netip.Addr) error {
	conn, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	if err != nil {
		return fmt.Errorf("announce %s on link %d: %w", addr, index, err)
	}
	defer conn.Close()

	p := ipv6.NewPacketConn(conn)
	if _, err := p.WriteTo(announcement(from, addr), &ipv6.ControlMessage{HopLimit: hopLimit, IfIndex: index}, &net.IPAddr{IP: net.IPv6linklocalallnodes}); err != nil {
		return fmt.Errorf("announce %s on link %d: %w", addr, index, err)
	}

	return nil
}

// announcement returns the message; the kernel computes its checksum.
func announcement(from [6]byte, addr netip.Addr) []byte {
	message := []byte{advertisement, 0, 0, 0, override, 0, 0, 0}
	message = append(message, addr.AsSlice()...)
	message = append(message, targetAddress, 1) // in units of eight bytes

	return append(message, from[:]...)
}
