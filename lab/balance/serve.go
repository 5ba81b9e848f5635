// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"time"
)

const (
	// dialTimeout of a server.
	dialTimeout = 10 * time.Second
	// dialNext is how long a server may take to accept a connection before the next one is tried at the same time.
	dialNext = 300 * time.Millisecond
	// acceptAgain is how long a listener waits after a connection that it could not accept.
	acceptAgain = 100 * time.Millisecond
	// lastWord is how long one direction of a connection goes on after the other one has failed: a server that answers and closes without reading
	// the rest of the request resets the connection, and its answer is still on its way.
	lastWord = 2 * time.Second
)

// Serve forwards the connections of a listener until ctx is done; then it closes the listener and all connections, and returns.
func (b *Balancer) Serve(ctx context.Context, l net.Listener) {
	ctx, stop := context.WithCancel(ctx)

	var open sync.WaitGroup
	defer open.Wait()
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()

	for {
		conn, err := l.Accept()

		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			if err == nil {
				_ = conn.Close()
			}

			_ = l.Close()

			return
		case err != nil: // too many open files
			b.log.Warn("connection not accepted", "listener", l.Addr(), "error", err)

			select {
			case <-ctx.Done():
			case <-time.After(acceptAgain):
			}
		default:
			open.Go(func() { b.forward(ctx, conn) })
		}
	}
}

// forward joins a client's connection with one to a server. When no server accepts it the client gets a reset, as from a closed port.
func (b *Balancer) forward(ctx context.Context, near net.Conn) {
	defer near.Close()

	far, to, err := dial(ctx, b.order())
	if err != nil {
		if tcp, ok := near.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}

		return
	}
	defer far.Close()

	cut := func() { _ = near.Close(); _ = far.Close() } // ends both

	defer to.hold(b, &link{cut: cut})()
	defer context.AfterFunc(ctx, cut)()

	var both sync.WaitGroup

	end := time.AfterFunc(math.MaxInt64, cut)
	defer end.Stop()

	for _, way := range [][2]net.Conn{{far, near}, {near, far}} {
		both.Go(func() {
			_, err := io.Copy(way[0], way[1])
			half, ok := way[0].(interface{ CloseWrite() error })

			if !ok || half.CloseWrite() != nil || err != nil {
				end.Reset(lastWord)
			}
		})
	}

	both.Wait()
}

// dial connects to the first server that accepts the connection.
func dial(ctx context.Context, targets []*target) (net.Conn, *target, error) {
	type result struct {
		conn net.Conn
		to   *target
		err  error
	}

	var (
		results = make(chan result, len(targets))
		tries   sync.WaitGroup
		errs    []error
	)

	ctx, cancel := context.WithTimeout(ctx, dialTimeout)

	defer func() {
		cancel()
		tries.Wait() // each has sent its result

		for len(results) > 0 {
			if late := <-results; late.conn != nil {
				_ = late.conn.Close()
			}
		}
	}()

	for begun := 0; len(errs) < len(targets); {
		var next <-chan time.Time

		if begun < len(targets) {
			to := targets[begun]
			begun++

			tries.Go(func() {
				conn, err := to.Dial(ctx)
				results <- result{conn, to, err}
			})

			next = time.After(dialNext)
		}

		select {
		case <-next:
		case r := <-results:
			if r.err == nil {
				return r.conn, r.to, nil
			}

			errs = append(errs, r.err)
		}
	}

	return nil, nil, errors.Join(errs...)
}
