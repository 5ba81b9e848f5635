// SPDX-License-Identifier: Apache-2.0

//go:build linux

package acd

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"
)

// protocol is that of ARP in network byte order.
const protocol = unix.ETH_P_ARP>>8 | unix.ETH_P_ARP&0xff<<8

// Conn is the ARP of all links of a network namespace.
type Conn struct{ socket *socket.Conn }

// Open listens on all links, including those that are added later.
func Open() (*Conn, error) {
	s, err := socket.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, protocol, "arp", nil)
	if err != nil {
		return nil, fmt.Errorf("listen to ARP: %w", err)
	}

	return &Conn{s}, nil
}

// Close ends a Watch.
func (c *Conn) Close() error { return c.socket.Close() }

// Watch calls seen for each address that another machine announces, until the context ends.
func (c *Conn) Watch(ctx context.Context, seen func(Use)) error {
	packet := make([]byte, size) // the rest is padding

	for {
		n, from, err := c.socket.Recvfrom(ctx, packet, 0)
		if ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return fmt.Errorf("listen to ARP: %w", err)
		}

		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}

		if addr, by, ok := parse(packet[:n]); ok {
			seen(Use{uint32(link.Ifindex), addr, by})
		}
	}
}

// Probe asks all machines on a link who has an address.
func (c *Conn) Probe(ctx context.Context, link uint32, from [6]byte, addr netip.Addr) error {
	to := &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: int(link), Halen: 6, Addr: [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}

	if err := c.socket.Sendto(ctx, probe(from, addr), 0, to); err != nil {
		return fmt.Errorf("probe %s on link %d: %w", addr, link, err)
	}

	return nil
}
