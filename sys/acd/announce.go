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

// Announce tells all machines on a link that this one has an address (RFC 5227, 3): those that knew another one for it use this one.
func Announce(ctx context.Context, link uint32, from [6]byte, addr netip.Addr) error {
	s, err := socket.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0, "arp", nil) // protocol 0 receives nothing
	if err != nil {
		return fmt.Errorf("announce %s on link %d: %w", addr, link, err)
	}
	defer s.Close()

	to := &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: int(link), Halen: 6, Addr: [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}

	if err := s.Sendto(ctx, announcement(from, addr), 0, to); err != nil {
		return fmt.Errorf("announce %s on link %d: %w", addr, link, err)
	}

	return nil
}
