// SPDX-License-Identifier: Apache-2.0

// Package kubeprism is a TCP load balancer to the cluster's API servers on every node's loopback, so that nothing on a
// node depends on a load balancer outside.
//
// On a control plane the API server beside it comes first, so that a node keeps working by itself. Of the
// others the one with the fewest connections from here does, and one at random of several: so the nodes of a cluster do not all
// use the same API server. A connection that cannot be made goes on to the next upstream, and what has failed comes last until a
// check finds it well again. An API server that takes connections and says that it is not ready, for one because its etcd has no
// quorum, comes after those that are, and its connections are closed if there is such a one: clients keep theirs as long as they can.
package kubeprism

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// How upstreams are checked.
const (
	checkInterval = 20 * time.Second
	dialTimeout   = 5 * time.Second
)

// Upstream is one API server.
type Upstream struct {
	Address string // host:port
	// Local is the one on this node.
	Local bool
}

// Balancer forwards connections. The zero value has no upstreams.
type Balancer struct {
	mu        sync.Mutex
	upstreams []Upstream
	// broken are those that take no connections, unready those that do and do not serve.
	broken, unready map[string]bool
	// open are the connections to each upstream.
	open map[string]map[net.Conn]bool

	// Ready reports whether an upstream that takes connections serves too; nil asks none. It is set before Check is called.
	Ready func(ctx context.Context, address string) error
}

// SetUpstreams replaces the upstreams. Connections that are open stay.
func (b *Balancer) SetUpstreams(upstreams []Upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.upstreams = slices.Clone(upstreams)

	for _, states := range []map[string]bool{b.broken, b.unready} {
		for address := range states {
			if !slices.ContainsFunc(upstreams, func(u Upstream) bool { return u.Address == address }) {
				delete(states, address)
			}
		}
	}
}

// Healthy tells whether some upstream takes connections.
func (b *Balancer) Healthy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return slices.ContainsFunc(b.upstreams, func(u Upstream) bool { return !b.broken[u.Address] })
}

// candidates are all upstreams in the order in which they are tried: those that are ready, those that are not, and those that take
// no connections.
func (b *Balancer) candidates() []string {
	b.mu.Lock()
	defer b.mu.Unlock()

	out := slices.Clone(b.upstreams)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })

	slices.SortStableFunc(out, func(x, y Upstream) int {
		return cmp.Or(
			falseFirst(b.broken[x.Address], b.broken[y.Address]), falseFirst(b.unready[x.Address], b.unready[y.Address]),
			falseFirst(!x.Local, !y.Local), cmp.Compare(len(b.open[x.Address]), len(b.open[y.Address])),
		)
	})

	addresses := make([]string, len(out))
	for i, u := range out {
		addresses[i] = u.Address
	}

	return addresses
}

func falseFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	default:
		return 1
	}
}

// noteReady notes whether an upstream serves.
func (b *Balancer) noteReady(address string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.unready == nil {
		b.unready = map[string]bool{}
	}

	b.unready[address] = !ok
}

// leaveUnready closes the connections to upstreams that are not ready, if another is.
func (b *Balancer) leaveUnready() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !slices.ContainsFunc(b.upstreams, func(u Upstream) bool { return !b.broken[u.Address] && !b.unready[u.Address] }) {
		return
	}

	for address, unready := range b.unready {
		if !unready {
			continue
		}

		for conn := range b.open[address] {
			conn.Close() //nolint:errcheck,gosec // both ends see it
		}
	}
}

// hold notes that a connection is open; the function that it returns, that it is not any more.
func (b *Balancer) hold(address string, conn net.Conn) (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.open == nil {
		b.open = map[string]map[net.Conn]bool{}
	}

	if b.open[address] == nil {
		b.open[address] = map[net.Conn]bool{}
	}

	b.open[address][conn] = true

	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(b.open[address], conn)

		if len(b.open[address]) == 0 {
			delete(b.open, address)
		}
	}
}

func (b *Balancer) note(address string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.broken == nil {
		b.broken = map[string]bool{}
	}

	b.broken[address] = !ok
}

// dial connects to the best upstream that answers.
func (b *Balancer) dial(ctx context.Context) (conn net.Conn, address string, err error) {
	var errs []error

	for _, address := range b.candidates() {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		b.note(address, err == nil)

		if err == nil {
			return conn, address, nil
		}

		errs = append(errs, err)
	}

	if len(errs) == 0 {
		return nil, "", errors.New("no upstream is known")
	}

	return nil, "", errors.Join(errs...)
}

// Serve forwards every connection of the listener until ctx is done; then it closes all and returns.
func (b *Balancer) Serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	var open guard.Group
	defer open.Wait() //nolint:errcheck // each was logged

	stop := context.AfterFunc(ctx, func() { listener.Close() }) //nolint:errcheck,gosec // it is being given up
	defer stop()

	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}

			return fmt.Errorf("KubePrism: %w", err) //nolint:staticcheck // a name
		}

		open.Go(func() error {
			defer conn.Close() //nolint:errcheck // its end

			if err := guard.Call(func() error { return b.serve(ctx, conn, log) }); err != nil {
				log.ErrorContext(ctx, "KubePrism: a connection panicked", "error", err)
			}

			return nil
		})
	}
}

// serve forwards one connection.
func (b *Balancer) serve(ctx context.Context, conn net.Conn, log *slog.Logger) error {
	upstream, address, err := b.dial(ctx)
	if err != nil {
		log.DebugContext(ctx, "KubePrism: no API server takes the connection", "error", err)

		return nil
	}
	defer upstream.Close() //nolint:errcheck // its end
	defer b.hold(address, upstream)()

	return forward(ctx, conn, upstream)
}

// forward copies both ways until either side is done or ctx is.
func forward(ctx context.Context, a, b net.Conn) error {
	stop := context.AfterFunc(ctx, func() { a.Close(); b.Close() }) //nolint:errcheck,gosec // the end of both
	defer stop()

	var both guard.Group

	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() error {
			_, _ = io.Copy(way[0], way[1]) //nolint:errcheck // either end may go at any time

			if half, ok := way[0].(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() //nolint:errcheck // it may be gone
			}

			return nil
		})
	}

	return both.Wait()
}

// Check looks at every upstream from time to time until ctx is done. changed is called after each round in which the
// health of the whole is another than before.
func (b *Balancer) Check(ctx context.Context, changed func(), log *slog.Logger) {
	before := false
	silent := map[string]bool{} // as it was told

	for {
		for _, address := range b.candidates() {
			conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
			if ctx.Err() != nil {
				return
			}

			b.note(address, err == nil)

			if err == nil {
				conn.Close() //nolint:errcheck,gosec // it was only a test

				if b.Ready != nil {
					err = b.Ready(ctx, address)
					b.noteReady(address, err == nil)
				}
			}

			if ctx.Err() != nil {
				return
			}

			// A wrong endpoint of the cluster shows nowhere else while another API server answers: explain reads this.
			if failed := err != nil; failed != silent[address] {
				silent[address] = failed

				if failed {
					log.WarnContext(ctx, "an API server does not answer", "address", address, "error", err)
				} else {
					log.InfoContext(ctx, "an API server answers", "address", address)
				}
			}
		}

		b.leaveUnready()

		now := b.Healthy()
		if now != before {
			changed()
		}

		before = now
		wait := checkInterval

		if !now {
			wait = 2 * time.Second
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
