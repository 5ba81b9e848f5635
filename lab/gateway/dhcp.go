// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

func (g *Gateway) serveDHCP(ctx context.Context) error {
	conn, err := g.listenAny(ipv4.ProtocolNumber, dhcpv4.ServerPort)
	if err != nil {
		return fmt.Errorf("start DHCP: %w", err)
	}

	server, err := server4.NewServer("", nil, g.handleDHCP, server4.WithConn(conn))
	if err != nil {
		return fmt.Errorf("start DHCP: %w", err)
	}

	g.serveUntilClosed(ctx, "DHCP", server.Serve, server)

	return nil
}

func (g *Gateway) handleDHCP(conn net.PacketConn, _ net.Addr, request *dhcpv4.DHCPv4) {
	behaviour := g.dhcp.get()
	if behaviour.value.Silent || !g.pause(behaviour.value.Delay) {
		return
	}

	reply, err := g.cfg.answerDHCP(request, behaviour.value, int(behaviour.acks.Load()))
	if err != nil {
		g.cfg.Log.Warn("DHCP request not answered", "client", request.ClientHWAddr.String(), "error", err)

		return
	}

	if reply == nil || !behaviour.mayAnswer(behaviour.value.StopAfter) {
		return
	}

	if reply.MessageType() == dhcpv4.MessageTypeAck {
		behaviour.acks.Add(1)
	}

	g.cfg.Log.Info("DHCP", "client", request.ClientHWAddr.String(), "request", request.MessageType(), "reply", reply.MessageType(),
		"address", reply.YourIPAddr, "hostname", reply.HostName())

	to := &net.UDPAddr{IP: g.cfg.replyAddr(request, reply), Port: dhcpv4.ClientPort}
	if _, err := conn.WriteTo(reply.ToBytes(), to); err != nil {
		g.cfg.Log.Warn("DHCP reply not sent", "client", request.ClientHWAddr.String(), "to", to, "error", err)
	}
}

// replyAddr returns the destination of a reply: the client's address if it has one on this network and keeps it, else
// broadcast (RFC 2131, 4.1).
func (c *Config) replyAddr(request, reply *dhcpv4.DHCPv4) net.IP {
	has, ok := netip.AddrFromSlice(request.ClientIPAddr.To4())
	if !ok || !c.Subnet4.Contains(has) || request.IsBroadcast() || reply.MessageType() == dhcpv4.MessageTypeNak {
		return net.IPv4bcast
	}

	return request.ClientIPAddr
}

// answerDHCP returns the answer to a client's message, or nil for a message that gets none (RFC 2131, 4.3). Acks is how
// many ACKs the server has sent since its behaviour was set.
func (c *Config) answerDHCP(request *dhcpv4.DHCPv4, b DHCPBehaviour, acks int) (*dhcpv4.DHCPv4, error) {
	if request.OpCode != dhcpv4.OpcodeBootRequest {
		return nil, fmt.Errorf("operation %v is not a request", request.OpCode)
	}

	host := c.hostByMAC(request.ClientHWAddr)
	if host == nil {
		return nil, fmt.Errorf("no host has this hardware address")
	}

	self, addr, id := net.IP(c.Addr4.AsSlice()), net.IP(host.Addr4.AsSlice()), net.IP(c.Addr4.AsSlice())
	if b.Addr.IsValid() {
		addr = b.Addr.AsSlice()
	}

	if b.ServerID.IsValid() {
		id = b.ServerID.AsSlice()
	}

	answer, err := answerType(request, id, addr)
	if answer == dhcpv4.MessageTypeNone || err != nil {
		return nil, err
	}

	if b.RefuseRequests && request.MessageType() == dhcpv4.MessageTypeRequest {
		answer = dhcpv4.MessageTypeNak
	}

	reply, err := dhcpv4.NewReplyFromRequest(request,
		dhcpv4.WithMessageType(answer),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(id)))
	if err != nil {
		return nil, fmt.Errorf("create a reply: %w", err)
	}

	if answer == dhcpv4.MessageTypeNak {
		reply.UpdateOption(dhcpv4.OptMessage(fmt.Sprintf("your address is %v", addr)))

		return reply, nil
	}

	reply.ServerIPAddr = self
	if request.MessageType() != dhcpv4.MessageTypeInform {
		reply.YourIPAddr = addr
		reply.UpdateOption(dhcpv4.OptIPAddressLeaseTime(cmp.Or(b.LeaseTime, c.LeaseTime)))
	}

	for _, option := range c.dhcpOptions(host, b, acks) {
		reply.UpdateOption(option)
	}

	return reply, nil
}

// answerType returns the type of the answer to a client's message, or MessageTypeNone, from a server with this
// identifier and this address for the client.
func answerType(request *dhcpv4.DHCPv4, id, addr net.IP) (dhcpv4.MessageType, error) {
	switch request.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		return dhcpv4.MessageTypeOffer, nil
	case dhcpv4.MessageTypeRequest:
		if server := request.ServerIdentifier(); server != nil && !server.Equal(id) {
			return dhcpv4.MessageTypeNone, nil // the client chose another server
		}

		if wanted := wantedAddress(request); wanted != nil && !wanted.Equal(addr) {
			return dhcpv4.MessageTypeNak, nil
		}

		return dhcpv4.MessageTypeAck, nil
	case dhcpv4.MessageTypeInform:
		return dhcpv4.MessageTypeAck, nil
	case dhcpv4.MessageTypeRelease:
		return dhcpv4.MessageTypeNone, nil // leases are fixed
	case dhcpv4.MessageTypeDecline:
		return dhcpv4.MessageTypeNone, fmt.Errorf("the client declines %v: another host has it", addr)
	default:
		return dhcpv4.MessageTypeNone, fmt.Errorf("message type %v is not a client's", request.MessageType())
	}
}

// dhcpOptions returns the options of a reply besides the lease.
func (c *Config) dhcpOptions(host *Host, b DHCPBehaviour, acks int) []dhcpv4.Option {
	self, router, name := net.IP(c.Addr4.AsSlice()), c.Addr4, host.Name

	for _, other := range []netip.Addr{c.Router4, b.Router} {
		if other.IsValid() {
			router = other
		}
	}

	if len(b.HostNames) > 0 {
		name = b.HostNames[acks%len(b.HostNames)]
	}

	options := []dhcpv4.Option{
		dhcpv4.OptSubnetMask(net.CIDRMask(c.Subnet4.Bits(), 32)),
		dhcpv4.OptHostName(name),
		dhcpv4.OptGeneric(dhcpv4.OptionInterfaceMTU, []byte{byte(c.MTU >> 8), byte(c.MTU)}),
	}

	if !b.NoRouter {
		options = append(options, dhcpv4.OptRouter(router.AsSlice()))
	}

	if c.has(ServiceDNS) {
		options = append(options, dhcpv4.OptDNS(self))
	}

	if c.has(ServiceNTP) {
		options = append(options, dhcpv4.OptNTPServers(self))
	}

	return options
}

// wantedAddress returns the address that a REQUEST is for.
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
