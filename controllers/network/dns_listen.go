// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// listenDNS opens the sockets of a DNS server. With IP_FREEBIND the address need not be there yet; the option is for IPv6 too.
func listenDNS(ctx context.Context, at netip.AddrPort) (net.PacketConn, net.Listener, error) {
	var config net.ListenConfig

	config.Control = func(_, _ string, conn syscall.RawConn) error {
		var err error

		cause := conn.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })

		return errors.Join(cause, err)
	}

	packets, err := config.ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, nil, fmt.Errorf("DNS server: %w", err)
	}

	listener, err := config.Listen(ctx, "tcp", at.String())
	if err != nil {
		_ = packets.Close()

		return nil, nil, fmt.Errorf("DNS server: %w", err)
	}

	return packets, listener, nil
}
