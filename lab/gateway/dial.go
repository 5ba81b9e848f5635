// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// A machine that rebooted answers the first probe with a reset, so that clients notice it within seconds. A silent
// machine is given up after half a minute, so that connections survive a shorter cut of its link.
const (
	probeAfter = 5 * time.Second
	probeEvery = 5 * time.Second
	probeCount = 6
)

// Dial connects to a TCP port of a machine from the gateway's address.
func (g *Gateway) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var wq waiter.Queue

	ep, err := g.stack.NewEndpoint(tcp.ProtocolNumber, protocolOf(to.Addr()), &wq)
	if err != nil {
		return nil, stackError("open a TCP endpoint", err)
	}

	if err := connectEndpoint(ctx, ep, &wq, to); err != nil {
		ep.Close()

		return nil, fmt.Errorf("connect to %v in the lab: %w", to, err)
	}

	return gonet.NewTCPConn(&wq, ep), nil
}

// connectEndpoint connects as gonet does, with keepalive probes.
func connectEndpoint(ctx context.Context, ep tcpip.Endpoint, wq *waiter.Queue, to netip.AddrPort) error {
	ep.SocketOptions().SetKeepAlive(true)

	idle, interval := tcpip.KeepaliveIdleOption(probeAfter), tcpip.KeepaliveIntervalOption(probeEvery)
	silence := tcpip.TCPUserTimeoutOption(probeAfter + probeCount*probeEvery)

	for _, option := range []tcpip.SettableSocketOption{&idle, &interval, &silence} {
		if err := ep.SetSockOpt(option); err != nil {
			return stackError("set up keepalive probes", err)
		}
	}

	if err := ep.SetSockOptInt(tcpip.KeepaliveCountOption, probeCount); err != nil {
		return stackError("set up keepalive probes", err)
	}

	entry, connected := waiter.NewChannelEntry(waiter.WritableEvents)
	wq.EventRegister(&entry)
	defer wq.EventUnregister(&entry)

	err := ep.Connect(endpoint(to.Addr(), to.Port()))
	if _, started := err.(*tcpip.ErrConnectStarted); started { // not a Go error
		select {
		case <-connected:
			err = ep.LastError()
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	if err != nil {
		return errors.New(err.String())
	}

	return nil
}
