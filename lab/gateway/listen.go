// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// listenAny opens a UDP port on all of the gateway's addresses. It receives and sends broadcasts, which gonet's own
// functions cannot.
func (g *Gateway) listenAny(protocol tcpip.NetworkProtocolNumber, port uint16) (net.PacketConn, error) {
	var wq waiter.Queue

	ep, err := g.stack.NewEndpoint(udp.ProtocolNumber, protocol, &wq)
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

// listenPackets opens a UDP port on each of the network's protocols.
func (g *Gateway) listenPackets(port uint16) ([]*gonet.UDPConn, error) {
	var conns []*gonet.UDPConn

	for _, own := range g.cfg.prefixes() {
		local := endpoint(own.Addr(), port)

		conn, err := gonet.DialUDP(g.stack, &local, nil, protocolOf(own.Addr()))
		if err != nil {
			return nil, errors.Join(err, closeAll(conns))
		}

		conns = append(conns, conn)
	}

	return conns, nil
}

// listenStreams opens a TCP port on each of the addresses.
func (g *Gateway) listenStreams(port uint16, addrs ...netip.Addr) ([]*gonet.TCPListener, error) {
	var listeners []*gonet.TCPListener

	for _, addr := range addrs {
		l, err := gonet.ListenTCP(g.stack, endpoint(addr, port), protocolOf(addr))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen on TCP port %d of %v: %w", port, addr, err), closeAll(listeners))
		}

		listeners = append(listeners, l)
	}

	return listeners, nil
}

func closeAll[C interface{ Close() error }](list []C) error {
	var errs []error
	for _, c := range list {
		errs = append(errs, c.Close())
	}

	return errors.Join(errs...)
}
