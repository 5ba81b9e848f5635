// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// listenDNS opens the sockets of a DNS server on an address that the machine has. Before it has any address, as at boot, the kernel
// allows the bind too, but gives the socket no source address, and clients drop replies from another one: callers wait for the address.
func listenDNS(ctx context.Context, at netip.AddrPort) (net.PacketConn, net.Listener, error) {
	var config net.ListenConfig

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
