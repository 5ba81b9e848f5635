// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptAgain is how long a listener waits after a connection that it could not accept.
const acceptAgain = 100 * time.Millisecond

// dialTimeout is how long a connection to a machine may take: several tries of TCP, so that it succeeds on a lossy
// link.
const dialTimeout = 10 * time.Second

// Forward connects each connection to l with a TCP port of a machine, until l or the gateway is closed. While the
// machine does not answer, connections are reset.
func (g *Gateway) Forward(l net.Listener, to netip.AddrPort) {
	ctx, stop := context.WithCancel(g.done)
	context.AfterFunc(ctx, func() { _ = l.Close() })

	g.run(func() {
		defer stop()

		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return // by its owner, or Close
			}

			if err != nil {
				g.cfg.Log.Warn("connection not accepted", "listener", l.Addr(), "error", err)

				wait(ctx, acceptAgain) // too many open files

				continue
			}

			g.run(func() { g.splice(ctx, conn, to) })
		}
	})
}

// Listen opens a TCP port on each of the gateway's addresses, for the machines of its network.
func (g *Gateway) Listen(port uint16) ([]net.Listener, error) {
	var addrs []netip.Addr
	for _, own := range g.cfg.prefixes() {
		addrs = append(addrs, own.Addr())
	}

	listeners, err := g.listenStreams(port, addrs...)

	out := make([]net.Listener, len(listeners))
	for i, l := range listeners {
		out[i] = l
	}

	return out, err
}

// splice joins a connection from loopback with a new one to a machine.
func (g *Gateway) splice(ctx context.Context, near net.Conn, to netip.AddrPort) {
	defer near.Close()

	dialCtx, cancel := context.WithTimeout(ctx, dialTimeout)
	far, err := g.Dial(dialCtx, to)

	cancel()

	if err != nil {
		// The client gets a reset, as from a machine whose port is closed.
		if tcp, ok := near.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}

		return
	}
	defer far.Close()

	defer context.AfterFunc(ctx, func() { _ = near.Close(); _ = far.Close() })()

	var both sync.WaitGroup

	for _, way := range [][2]net.Conn{{far, near}, {near, far}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			half, ok := way[0].(interface{ CloseWrite() error })

			if err != nil || !ok || half.CloseWrite() != nil {
				_ = near.Close()
				_ = far.Close()
			}
		})
	}

	both.Wait()
}
