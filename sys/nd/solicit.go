// SPDX-License-Identifier: Apache-2.0

// Package nd asks routers to advertise at once what they advertise every few minutes (RFC 4861, 6.3.7). The kernel does so when a link
// comes up, and handles the answers; this package is for listeners that start later.
package nd

import (
	"fmt"
	"net"

	"golang.org/x/net/ipv6"
)

// From RFC 4861.
const (
	solicitation = 133
	hopLimit     = 255
)

// SolicitRouters sends one router solicitation on a link. The link must be up and have a link-local address.
func SolicitRouters(index int) error {
	conn, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	if err != nil {
		return fmt.Errorf("solicit routers on link %d: %w", index, err)
	}
	defer conn.Close()

	// Type, code, checksum (the kernel's), reserved.
	message := []byte{solicitation, 0, 0, 0, 0, 0, 0, 0}
	routers := &net.IPAddr{IP: net.IPv6linklocalallrouters}

	p := ipv6.NewPacketConn(conn)
	if _, err := p.WriteTo(message, &ipv6.ControlMessage{HopLimit: hopLimit, IfIndex: index}, routers); err != nil {
		return fmt.Errorf("solicit routers on link %d: %w", index, err)
	}

	return nil
}
