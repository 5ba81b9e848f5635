// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-59268b81/talos/cosi/guard"
)

const (
	// acceptWait after a connection that could not be accepted for lack of a resource.
	acceptWait = 50 * time.Millisecond
	// warnEvery is how often the log says at most that there are too many connections.
	warnEvery = 10 * time.Second
	// dialNext is how long an upstream may take to accept a connection before the next one is tried at the same time.
	dialNext = 300 * time.Millisecond
	// lastWord is how long one direction of a connection goes on after the other one has failed: an end that sends an answer and closes without
	// reading the rest of the request resets the connection, and the answer is still on its way.
	lastWord = 2 * time.Second
)

// Port is where clients connect. It refuses them while no listener is open.
type Port interface {
	Listen() (net.Listener, error)
}

// Serve forwards the connections to the port until ctx is done; then it closes them and returns. The port is open while some upstream
// accepts connections; when none does, all connections are closed.
func (b *Balancer) Serve(ctx context.Context, port Port, log *slog.Logger) error {
	for {
		open, turned := b.look(&b.port)

		if open {
			if err := b.listen(ctx, port, turned, log); err != nil {
				return fmt.Errorf("KubePrism: %w", err)
			}
		}

		select {
		case <-ctx.Done():
			return nil
		case <-turned:
		}
	}
}

// listen forwards connections until ctx is done or until is closed.
func (b *Balancer) listen(ctx context.Context, port Port, until <-chan struct{}, log *slog.Logger) error {
	listener, err := port.Listen()
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(ctx)

	var open guard.Group
	defer open.Wait()
	defer cancel() // before it waits

	open.Go(func() error {
		defer listener.Close()
		defer cancel()

		select {
		case <-ctx.Done():
		case <-until:
		}

		return nil
	})

	warn := rate.Sometimes{Interval: warnEvery}

	for {
		conn, err := listener.Accept()

		switch {
		case ctx.Err() != nil, isClosed(until):
			if err == nil {
				conn.Close() // accepted too late
			}

			return nil
		case isTemporary(err):
			log.WarnContext(ctx, "KubePrism: accept connection", "error", err)

			select {
			case <-ctx.Done():
			case <-time.After(acceptWait):
			}

			continue
		case err != nil:
			return err
		}

		leave, ok := b.admit(conn)
		if !ok {
			conn.Close()
			warn.Do(func() { log.WarnContext(ctx, "KubePrism: too many connections", "limit", maxLinks) })

			continue
		}

		open.Go(func() error {
			defer leave()
			defer conn.Close()

			if err := guard.Call(func() error { return b.forward(ctx, conn, log) }); err != nil {
				log.ErrorContext(ctx, "KubePrism: a connection panicked", "error", err)
			}

			return nil
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isTemporary reports whether an error of Accept is temporary.
func isTemporary(err error) bool {
	temporary := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED}

	return slices.ContainsFunc(temporary, func(t error) bool { return errors.Is(err, t) })
}

// forward forwards one connection when an upstream answers.
func (b *Balancer) forward(ctx context.Context, client net.Conn, log *slog.Logger) error {
	for b.await(ctx, client) {
		upstream, address, err := b.dial(ctx)
		if err == nil {
			return b.exchange(ctx, client, upstream, address)
		}

		log.DebugContext(ctx, "KubePrism: no API server accepts the connection", "error", err)
	}

	return nil
}

// exchange copies both directions of a connection until they end, and closes the connection to the upstream.
func (b *Balancer) exchange(ctx context.Context, client, upstream net.Conn, address string) error {
	defer upstream.Close()

	cut := func() { client.Close(); upstream.Close() } // ends both

	defer b.hold(address, &link{cut: cut})()
	defer context.AfterFunc(ctx, cut)()

	first := make(chan bool, 2) // whether the upstream closed first

	var (
		both guard.Group
		end  = time.AfterFunc(math.MaxInt64, cut)
	)

	defer end.Stop()

	for _, way := range []struct {
		to, from net.Conn
		upstream bool
	}{{client, upstream, true}, {upstream, client, false}} {
		both.Go(func() error {
			_, err := io.Copy(way.to, way.from)
			first <- way.upstream

			// The other end is told, and may have more to say.
			half, ok := way.to.(interface{ CloseWrite() error })

			if !ok || half.CloseWrite() != nil || err != nil {
				end.Reset(lastWord)
			}

			return nil
		})
	}

	if <-first {
		b.kick(address)
	}

	return both.Wait()
}

// dial connects to the best upstream that accepts the connection. A machine without power neither accepts nor refuses it: the next upstream is
// tried soon, and the first that accepts wins.
func (b *Balancer) dial(ctx context.Context) (net.Conn, string, error) {
	type result struct {
		conn    net.Conn
		address string
		err     error
	}

	candidates := b.candidates()
	if len(candidates) == 0 {
		return nil, "", errors.New("no upstream is known")
	}

	var (
		results = make(chan result, len(candidates))
		tries   guard.Group
		errs    []error
	)

	trying, cancel := context.WithCancel(ctx)

	defer func() {
		cancel()

		_ = tries.Wait() // each has sent its result

		for len(results) > 0 {
			if late := <-results; late.conn != nil {
				late.conn.Close()
			}
		}
	}()

	for begun, ended := 0, 0; ended < len(candidates); {
		if begun < len(candidates) {
			address := candidates[begun]
			begun++

			tries.Go(func() error {
				conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(trying, "tcp", address)
				results <- result{conn, address, err}

				return nil
			})
		}

		var next <-chan time.Time
		if begun < len(candidates) {
			next = time.After(dialNext)
		}

		select {
		case <-next:
			b.kick(candidates[begun-1])
		case r := <-results:
			if r.err == nil {
				return r.conn, r.address, nil
			}

			if ctx.Err() != nil {
				return nil, "", r.err
			}

			if was, _ := b.state(r.address); was == ready {
				b.drain(r.address, r.err)
			}

			b.record(r.address, silent)
			b.kick(r.address)

			errs = append(errs, r.err)
			ended++
		}
	}

	return nil, "", errors.Join(errs...)
}

// hold records an open connection to an upstream until release is called.
func (b *Balancer) hold(address string, l *link) (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.open == nil {
		b.open = map[string]map[*link]bool{}
	}

	if b.open[address] == nil {
		b.open[address] = map[*link]bool{}
		b.kickLocked(address) // from now on it is probed more often
	}

	b.open[address][l] = true

	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(b.open[address], l)

		if len(b.open[address]) == 0 {
			delete(b.open, address)
		}
	}
}

// closeUnready closes the connections to upstreams that are not ready. It is called when another one is ready.
func (b *Balancer) closeUnready() {
	b.mu.Lock()
	defer b.mu.Unlock()

	for address, links := range b.open {
		s, known := b.states[address]
		if _, drains := b.drains[address]; !known || s == ready || drains {
			continue
		}

		for l := range links {
			l.cut()
		}
	}
}
