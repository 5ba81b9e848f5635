// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"sync"

	"github.com/containers/gvisor-tap-vsock/pkg/services/forwarder"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// refuseOutbound makes the stack a router that knows no network but the lab's,
// and says so to who asks for another.
func refuseOutbound(s *stack.Stack) error {
	if err := s.SetForwardingDefaultAndAllNICs(ipv4.ProtocolNumber, true); err != nil {
		return stackError("route between machines", err)
	}

	return nil
}

// openOutbound takes connections to any address beyond the lab and makes them
// from this computer's own sockets.
func openOutbound(s *stack.Stack, lab netip.Prefix) error {
	if err := s.SetPromiscuousMode(nic, true); err != nil {
		return stackError("take packets for any address", err)
	}

	if err := s.SetSpoofing(nic, true); err != nil {
		return stackError("answer from any address", err)
	}

	var (
		none   map[tcpip.Address]tcpip.Address
		noneMu sync.Mutex
	)

	s.SetTransportProtocolHandler(tcp.ProtocolNumber, beyond(lab, forwarder.TCP(s, none, &noneMu, false).HandlePacket))
	s.SetTransportProtocolHandler(udp.ProtocolNumber, beyond(lab, forwarder.UDP(s, none, &noneMu, false).HandlePacket))

	return nil
}

type packetHandler = func(stack.TransportEndpointID, *stack.PacketBuffer) bool

// beyond keeps the lab's own addresses from being dialled on this computer,
// where they are someone else's or nobody's.
func beyond(lab netip.Prefix, handle packetHandler) packetHandler {
	return func(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
		to, ok := netip.AddrFromSlice(id.LocalAddress.AsSlice())
		if !ok || lab.Contains(to) || to.IsLoopback() || to.IsMulticast() || to.IsUnspecified() {
			return false
		}

		return handle(id, pkt)
	}
}
