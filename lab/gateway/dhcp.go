// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

func (g *Gateway) serveDHCP(ctx context.Context) error {
	conn, err := g.listenBroadcast(dhcpv4.ServerPort)
	if err != nil {
		return fmt.Errorf("start DHCP: %w", err)
	}

	server, err := server4.NewServer("", nil, g.handleDHCP, server4.WithConn(conn))
	if err != nil {
		return fmt.Errorf("start DHCP: %w", err)
	}

	context.AfterFunc(ctx, func() { _ = server.Close() })
	g.run(func() {
		if err := server.Serve(); err != nil && ctx.Err() == nil {
			g.cfg.Log.Error("DHCP stopped", "error", err)
		}
	})

	return nil
}

// listenBroadcast opens a UDP port that hears and sends broadcasts, which
// gonet's own functions cannot.
func (g *Gateway) listenBroadcast(port uint16) (net.PacketConn, error) {
	var wq waiter.Queue

	ep, err := g.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		return nil, stackError("open a UDP endpoint", err)
	}

	ep.SocketOptions().SetBroadcast(true)

	if err := ep.Bind(endpoint(netip.Addr{}, port)); err != nil {
		ep.Close()

		return nil, stackError(fmt.Sprintf("bind UDP port %d", port), err)
	}

	return gonet.NewUDPConn(&wq, ep), nil
}

func (g *Gateway) handleDHCP(conn net.PacketConn, peer net.Addr, request *dhcpv4.DHCPv4) {
	reply, err := g.cfg.answerDHCP(request)
	if err != nil {
		g.cfg.Log.Warn("DHCP request not answered", "client", request.ClientHWAddr.String(), "error", err)

		return
	}

	if reply == nil {
		return
	}

	g.cfg.Log.Info("DHCP", "client", request.ClientHWAddr.String(), "request", request.MessageType(), "reply", reply.MessageType(),
		"address", reply.YourIPAddr, "hostname", reply.HostName())

	if _, err := conn.WriteTo(reply.ToBytes(), peer); err != nil {
		g.cfg.Log.Warn("DHCP reply not sent", "client", request.ClientHWAddr.String(), "to", peer, "error", err)
	}
}

// answerDHCP returns the answer to a client's message, or nil where none is
// due (RFC 2131, 4.3).
func (c *Config) answerDHCP(request *dhcpv4.DHCPv4) (*dhcpv4.DHCPv4, error) {
	if request.OpCode != dhcpv4.OpcodeBootRequest {
		return nil, fmt.Errorf("operation %v is not a request", request.OpCode)
	}

	host := c.hostByMAC(request.ClientHWAddr)
	if host == nil {
		return nil, fmt.Errorf("no lease is kept for this hardware address")
	}

	self, addr := net.IP(c.Addr.AsSlice()), net.IP(host.Addr.AsSlice())

	var answer dhcpv4.MessageType

	switch request.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		answer = dhcpv4.MessageTypeOffer
	case dhcpv4.MessageTypeRequest:
		if server := request.ServerIdentifier(); server != nil && !server.Equal(self) {
			return nil, nil // the client took another server's offer
		}

		answer = dhcpv4.MessageTypeAck
		if wanted := wantedAddress(request); wanted != nil && !wanted.Equal(addr) {
			answer = dhcpv4.MessageTypeNak
		}
	case dhcpv4.MessageTypeInform:
		answer = dhcpv4.MessageTypeAck
	case dhcpv4.MessageTypeRelease:
		return nil, nil // leases are fixed
	case dhcpv4.MessageTypeDecline:
		return nil, fmt.Errorf("the client declines %v: something else answers for it", addr)
	default:
		return nil, fmt.Errorf("message type %v is not a client's", request.MessageType())
	}

	reply, err := dhcpv4.NewReplyFromRequest(request,
		dhcpv4.WithMessageType(answer),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(self)))
	if err != nil {
		return nil, fmt.Errorf("make a reply: %w", err)
	}

	if answer == dhcpv4.MessageTypeNak {
		reply.UpdateOption(dhcpv4.OptMessage(fmt.Sprintf("your address is %v", addr)))

		return reply, nil
	}

	reply.ServerIPAddr = self
	if request.MessageType() != dhcpv4.MessageTypeInform {
		reply.YourIPAddr = addr
		reply.UpdateOption(dhcpv4.OptIPAddressLeaseTime(c.LeaseTime))
	}

	for _, option := range []dhcpv4.Option{
		dhcpv4.OptSubnetMask(net.CIDRMask(c.Subnet.Bits(), 32)),
		dhcpv4.OptRouter(self),
		dhcpv4.OptDNS(self),
		dhcpv4.OptNTPServers(self),
		dhcpv4.OptHostName(host.Name),
		dhcpv4.OptGeneric(dhcpv4.OptionInterfaceMTU, []byte{byte(c.MTU >> 8), byte(c.MTU)}),
	} {
		reply.UpdateOption(option)
	}

	return reply, nil
}

// wantedAddress is the address that a REQUEST asks to have or to keep.
func wantedAddress(request *dhcpv4.DHCPv4) net.IP {
	if ip := request.RequestedIPAddress(); ip != nil {
		return ip
	}

	if ip := request.ClientIPAddr; ip != nil && !ip.IsUnspecified() {
		return ip
	}

	return nil
}

func (c *Config) hostByMAC(addr net.HardwareAddr) *Host {
	for i := range c.Hosts {
		if bytes.Equal(c.Hosts[i].MAC, addr) {
			return &c.Hosts[i]
		}
	}

	return nil
}
