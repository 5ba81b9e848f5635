// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nic tcpip.NICID = 1
	// sendQueue bounds the packets that wait for the switch.
	sendQueue = 1024
	// arpEvery is the interval, and arpPatience the total time, of ARP requests for a machine that does not answer.
	arpEvery    = 200 * time.Millisecond
	arpPatience = 3 * time.Second
)

// netStack is a TCP/IP stack with one Ethernet card.
type netStack struct {
	*stack.Stack
	mac  tcpip.LinkAddress
	card *channel.Endpoint
	own  sync.Map // the stack's addresses
	// solicited receives a value for each router solicitation; nil for a stack that is not a router.
	solicited chan<- struct{}
}

// newStack returns a stack with addresses and with routes to their subnets. Its IPv6 link-local address follows from
// its hardware address.
func newStack(mtu uint16, mac net.HardwareAddr, ndp ipv6.NDPConfigurations, addrs ...netip.Prefix) (*netStack, error) {
	s := &netStack{
		Stack: stack.New(stack.Options{
			NetworkProtocols: []stack.NetworkProtocolFactory{
				ipv4.NewProtocol, arp.NewProtocol,
				ipv6.NewProtocolWithOptions(ipv6.Options{AutoGenLinkLocal: true, NDPConfigs: ndp}),
			},
			TransportProtocols: []stack.TransportProtocolFactory{
				tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6,
			},
		}),
		mac: tcpip.LinkAddress(mac),
	}
	s.card = channel.New(sendQueue, uint32(mtu)+header.EthernetMinimumSize, s.mac)

	if err := s.setUp(addrs); err != nil {
		s.Close()

		return nil, err
	}

	return s, nil
}

func (s *netStack) setUp(addrs []netip.Prefix) error {
	// Links in the lab can lose packets; TCP is then very slow without SACK.
	sack := tcpip.TCPSACKEnabled(true)
	if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack); err != nil {
		return stackError("enable SACK", err)
	}

	if err := s.CreateNIC(nic, ethernet.New(s.card)); err != nil {
		return stackError("create the network card", err)
	}

	// A machine must be found soon after it has booted.
	nud := stack.DefaultNUDConfigurations()
	nud.RetransmitTimer = arpEvery
	nud.MaxMulticastProbes = uint32(arpPatience / arpEvery)

	for _, protocol := range []tcpip.NetworkProtocolNumber{ipv4.ProtocolNumber, ipv6.ProtocolNumber} {
		if err := s.SetNUDConfigurations(nic, protocol, nud); err != nil {
			return stackError("set up neighbour discovery", err)
		}
	}

	routes := []tcpip.Route{{Destination: subnetOf(linkLocal6), NIC: nic}}

	for _, addr := range addrs {
		if err := s.addAddress(addr); err != nil {
			return err
		}

		routes = append(routes, tcpip.Route{Destination: subnetOf(addr), NIC: nic})
	}

	s.SetRouteTable(routes)

	return nil
}

func (s *netStack) addAddress(addr netip.Prefix) error {
	if err := s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol: protocolOf(addr.Addr()),
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address:   tcpip.AddrFromSlice(addr.Addr().AsSlice()),
			PrefixLen: addr.Bits(),
		},
	}, stack.AddressProperties{}); err != nil {
		return stackError(fmt.Sprintf("add address %v", addr), err)
	}

	s.own.Store(addr.Addr(), true)

	return nil
}

// route is a route through a router or, without one, to the link itself.
type route struct {
	to  netip.Prefix
	via netip.Addr
}

// route adds routes to the stack.
func (s *netStack) route(routes []route) {
	table := s.GetRouteTable()

	for _, r := range routes {
		entry := tcpip.Route{Destination: subnetOf(r.to), NIC: nic}
		if r.via.IsValid() {
			entry.Gateway = tcpip.AddrFromSlice(r.via.AsSlice())
		}

		table = append(table, entry)
	}

	s.SetRouteTable(table)
}

// subnetOf returns a prefix in the stack's form.
func subnetOf(p netip.Prefix) tcpip.Subnet {
	p = p.Masked()

	return tcpip.AddressWithPrefix{Address: tcpip.AddrFromSlice(p.Addr().AsSlice()), PrefixLen: p.Bits()}.Subnet()
}

// protocolOf returns the network protocol of an address.
func protocolOf(addr netip.Addr) tcpip.NetworkProtocolNumber {
	if addr.Is4() {
		return ipv4.ProtocolNumber
	}

	return ipv6.ProtocolNumber
}

// attach plugs the stack into a switch.
func (s *netStack) attach(sw *netswitch.Switch, name string) *netswitch.Port {
	return sw.Attach(name, s.receive)
}

// send sends the stack's frames to the switch until ctx is done.
func (s *netStack) send(ctx context.Context, port *netswitch.Port) {
	for {
		pkt := s.card.ReadContext(ctx)
		if pkt == nil {
			return
		}

		view := pkt.ToView()
		port.Send(view.AsSlice())
		view.Release()
		pkt.DecRef()
	}
}

func (s *netStack) receive(frame []byte) {
	// The stack does not filter by address, as the hardware of a card does.
	to := tcpip.LinkAddress(frame[:header.EthernetAddressSize])
	if to != s.mac && !header.IsMulticastEthernetAddress(to) { // broadcast is multicast
		return
	}

	if s.isARPForOther(frame) {
		return
	}

	if s.solicited != nil && isSolicitation(frame) {
		select {
		case s.solicited <- struct{}{}:
		default: // an advertisement is due already
		}
	}

	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	s.card.InjectInbound(0, pkt) // the Ethernet layer reads the protocol
	pkt.DecRef()
}

// isARPForOther reports whether a frame is an ARP request for an address that is not the stack's. A stack that accepts
// packets for any address (see openOutbound) would answer it.
func (s *netStack) isARPForOther(frame []byte) bool {
	if header.Ethernet(frame).Type() != header.ARPProtocolNumber {
		return false
	}

	packet := header.ARP(frame[header.EthernetMinimumSize:])

	if !packet.IsValid() || packet.Op() != header.ARPRequest {
		return false
	}

	_, own := s.own.Load(netip.AddrFrom4([4]byte(packet.ProtocolAddressTarget())))

	return !own
}

func stackError(op string, err tcpip.Error) error {
	return fmt.Errorf("%s: %w", op, errors.New(err.String()))
}

// endpoint returns a port of an address on the stack's card or, without an address, of all of them.
func endpoint(addr netip.Addr, port uint16) tcpip.FullAddress {
	full := tcpip.FullAddress{NIC: nic, Port: port}
	if addr.IsValid() {
		full.Addr = tcpip.AddrFromSlice(addr.AsSlice())
	}

	return full
}
