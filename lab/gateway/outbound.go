// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/lab/gateway/metadata"

	"github.com/containers/gvisor-tap-vsock/pkg/services/forwarder"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// refuseOutbound makes the stack a router that knows only the lab's network, and answers packets for others with
// "network unreachable".
func refuseOutbound(s *stack.Stack) error {
	for _, protocol := range []tcpip.NetworkProtocolNumber{ipv4.ProtocolNumber, ipv6.ProtocolNumber} {
		if err := s.SetForwardingDefaultAndAllNICs(protocol, true); err != nil {
			return stackError("route between machines", err)
		}
	}

	return nil
}

// openOutbound accepts connections to addresses outside the lab, and connects them from this computer's own sockets.
func openOutbound(s *stack.Stack, lab []netip.Prefix) error {
	if err := s.SetPromiscuousMode(nic, true); err != nil {
		return stackError("accept packets for any address", err)
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

// beyond refuses connections to the lab's own addresses, which belong to other hosts or to none outside the lab, and to
// metadata servers, which would send this computer's secrets.
func beyond(lab []netip.Prefix, handle packetHandler) packetHandler {
	return func(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
		to, ok := netip.AddrFromSlice(id.LocalAddress.AsSlice())
		if !ok || !isOutside(lab, to.Unmap()) {
			return false
		}

		return handle(id, pkt)
	}
}

func isOutside(lab []netip.Prefix, to netip.Addr) bool {
	if !to.IsGlobalUnicast() || to.IsLinkLocalUnicast() || metadata.IsAddress(to) {
		return false
	}

	return !slices.ContainsFunc(lab, func(p netip.Prefix) bool { return p.Contains(to) })
}
