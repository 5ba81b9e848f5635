// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/lab/netswitch"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nic tcpip.NICID = 1
	// sendQueue is how many packets wait for the switch.
	sendQueue = 1024
	// arpEvery is how often, and arpPatience how long, a machine is asked for
	// that does not answer.
	arpEvery    = 200 * time.Millisecond
	arpPatience = 3 * time.Second
)

// netStack is a TCP/IP stack with one Ethernet card.
type netStack struct {
	*stack.Stack
	mac  tcpip.LinkAddress
	card *channel.Endpoint
}

func newStack(mtu uint16, mac net.HardwareAddr, addr netip.Prefix) (*netStack, error) {
	s := &netStack{
		Stack: stack.New(stack.Options{
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
		}),
		mac: tcpip.LinkAddress(mac),
	}
	s.card = channel.New(sendQueue, uint32(mtu)+header.EthernetMinimumSize, s.mac)

	// Links in the lab lose packets on demand; without SACK, TCP crawls then.
	sack := tcpip.TCPSACKEnabled(true)
	if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack); err != nil {
		return nil, stackError("enable SACK", err)
	}

	if err := s.CreateNIC(nic, ethernet.New(s.card)); err != nil {
		return nil, stackError("create the network card", err)
	}

	// A machine that comes up is found soon after.
	nud := stack.DefaultNUDConfigurations()
	nud.RetransmitTimer = arpEvery
	nud.MaxMulticastProbes = uint32(arpPatience / arpEvery)

	if err := s.SetNUDConfigurations(nic, ipv4.ProtocolNumber, nud); err != nil {
		return nil, stackError("set up ARP", err)
	}

	if err := s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address:   tcpip.AddrFromSlice(addr.Addr().AsSlice()),
			PrefixLen: addr.Bits(),
		},
	}, stack.AddressProperties{}); err != nil {
		return nil, stackError(fmt.Sprintf("add address %v", addr), err)
	}

	subnet, err := tcpip.NewSubnet(
		tcpip.AddrFromSlice(addr.Masked().Addr().AsSlice()),
		tcpip.MaskFromBytes(net.CIDRMask(addr.Bits(), 32)),
	)
	if err != nil {
		return nil, fmt.Errorf("route subnet %v: %w", addr.Masked(), err)
	}

	s.SetRouteTable([]tcpip.Route{{Destination: subnet, NIC: nic}})

	return s, nil
}

// connect moves frames between the stack and the switch until ctx is done.
func (s *netStack) connect(ctx context.Context, sw *netswitch.Switch, name string) {
	port := sw.Attach(name, s.receive)
	defer port.Close()

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
	// The stack wants the filter that a card's hardware would do.
	to := tcpip.LinkAddress(frame[:header.EthernetAddressSize])
	if to != s.mac && !header.IsMulticastEthernetAddress(to) { // broadcast is multicast
		return
	}

	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
	s.card.InjectInbound(0, pkt) // the Ethernet layer reads the protocol
	pkt.DecRef()
}

func stackError(op string, err tcpip.Error) error {
	return fmt.Errorf("%s: %w", op, errors.New(err.String()))
}

// endpoint is a port of the stack's own address, or with no address of any.
func endpoint(addr netip.Addr, port uint16) tcpip.FullAddress {
	full := tcpip.FullAddress{NIC: nic, Port: port}
	if addr.IsValid() {
		full.Addr = tcpip.AddrFromSlice(addr.AsSlice())
	}

	return full
}
