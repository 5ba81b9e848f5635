// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/dhcpv6/server6"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

func (g *Gateway) serveDHCPv6(ctx context.Context) error {
	group := tcpip.AddrFromSlice(dhcpv6.AllDHCPRelayAgentsAndServers.To16())
	if err := g.stack.JoinGroup(ipv6.ProtocolNumber, nic, group); err != nil {
		return fmt.Errorf("start DHCPv6: %w", stackError("join the servers' group", err))
	}

	conn, err := g.listenAny(ipv6.ProtocolNumber, dhcpv6.DefaultServerPort)
	if err != nil {
		return fmt.Errorf("start DHCPv6: %w", err)
	}

	server, err := server6.NewServer("", nil, g.handleDHCPv6, server6.WithConn(conn))
	if err != nil {
		return fmt.Errorf("start DHCPv6: %w", err)
	}

	g.serveUntilClosed(ctx, "DHCPv6", server.Serve, server)

	return nil
}

func (g *Gateway) handleDHCPv6(conn net.PacketConn, peer net.Addr, packet dhcpv6.DHCPv6) {
	behaviour := g.dhcpv6.get()
	if behaviour.value.Silent || !g.pause(behaviour.value.Delay) {
		return
	}

	request, ok := packet.(*dhcpv6.Message)
	if !ok {
		g.cfg.Log.Warn("DHCPv6 request not answered", "from", peer, "error", "the lab has no relays")

		return
	}

	reply, err := g.cfg.answerDHCPv6(request, addrOf(peer), behaviour.value)
	if err != nil {
		g.cfg.Log.Warn("DHCPv6 request not answered", "from", peer, "request", request.Type(), "error", err)

		return
	}

	if reply == nil || !behaviour.mayAnswer(behaviour.value.StopAfter) {
		return
	}

	g.cfg.Log.Info("DHCPv6", "from", peer, "request", request.Type(), "reply", reply.Type())

	if _, err := conn.WriteTo(reply.ToBytes(), peer); err != nil {
		g.cfg.Log.Warn("DHCPv6 reply not sent", "to", peer, "error", err)
	}
}

// addrOf returns the IP address of a peer.
func addrOf(peer net.Addr) netip.Addr {
	switch peer := peer.(type) {
	case *net.UDPAddr:
		return peer.AddrPort().Addr().Unmap()
	case *net.TCPAddr:
		return peer.AddrPort().Addr().Unmap()
	}

	return netip.Addr{}
}
