// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// How often upstreams are probed.
const (
	// Everything on a machine that boots waits for its own API server. A probe that is refused costs 5 ms on an emulated machine.
	localInterval = 200 * time.Millisecond
	// For an upstream that is not ready while no other is ready, and for the machine's own.
	retryInterval = 2 * time.Second
	checkInterval = 20 * time.Second
	// An upstream with connections is probed more often, and must answer soon while another upstream could take its place: the connections to a
	// machine without power, and to an API server that hangs, stay open. A second probe decides. So the connections are closed within 4 s.
	usedInterval = time.Second
	usedTimeout  = 1500 * time.Millisecond
	// drainTime is how long an upstream that ends has for its requests.
	drainTime = 3 * time.Second
	// An upstream that closes a connection is probed at once, but not more often than this.
	kickInterval = 100 * time.Millisecond
	// A connection that the machine's own API server has not refused for this long counts as accepted. A program with another certificate on
	// that port is noticed sooner.
	pendingAfter = 500 * time.Millisecond
)

// Check probes the upstreams until ctx is done. It calls changed when the first upstream answers, and when the last one stops.
func (b *Balancer) Check(ctx context.Context, changed func(), log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var all guard.Group

	run := func(f func()) {
		all.Go(func() error {
			err := guard.Call(func() error { f(); return nil })
			if err != nil {
				cancel() // the state of an upstream that is not probed would never change
			}

			return err
		})
	}

	run(func() { b.notify(ctx, changed) })

	asked := map[Upstream]context.CancelFunc{}

	for ctx.Err() == nil {
		upstreams, replaced := b.current()
		gone := asked
		asked = map[Upstream]context.CancelFunc{}

		for _, u := range upstreams {
			if stop, ok := gone[u]; ok {
				asked[u] = stop
				delete(gone, u)

				continue
			}

			each, stop := context.WithCancel(ctx)
			asked[u] = stop

			run(func() {
				// Without it, the last message would say that the API server does not answer: explain reads this.
				if last := b.follow(each, u, log); last != ready && ctx.Err() == nil {
					log.InfoContext(ctx, "an API server is not used any more", "address", u.Address)
				}
			})
		}

		for _, stop := range gone {
			stop()
		}

		select {
		case <-ctx.Done():
		case <-replaced:
		}
	}

	for _, stop := range asked {
		stop()
	}

	return all.Wait()
}

// notify calls changed when the first upstream answers, and when the last one stops.
func (b *Balancer) notify(ctx context.Context, changed func()) {
	before := false

	for {
		now, turned := b.look(&b.answers)
		if now != before {
			changed()
		}

		before = now

		select {
		case <-ctx.Done():
			return
		case <-turned:
		}
	}
}

// follow probes one upstream until ctx is done. It returns the state that it has logged last.
func (b *Balancer) follow(ctx context.Context, u Upstream, log *slog.Logger) state {
	kick, forget := b.kicked(u.Address)
	defer forget()

	logged := ready // an upstream that is ready at first is not logged

	for {
		asked := time.Now()

		err := b.probe(ctx, u)
		if ctx.Err() != nil {
			return logged
		}

		own, best := b.state(u.Address)

		// The last known states of the others are no reason to leave this one: all may be unready for the same reason.
		switch {
		case own == ready:
			b.closeUnready()
		case logged == ready, b.drained(u.Address):
			b.kickReady()
		}

		// A wrong endpoint of the cluster shows nowhere else while another API server answers: explain reads this.
		if (own == ready) != (logged == ready) {
			if own == ready {
				log.InfoContext(ctx, "an API server answers", "address", u.Address)
			} else {
				log.WarnContext(ctx, "an API server does not answer", "address", u.Address, "error", err)
			}
		}

		logged = own

		next := interval(u, own, best, b.used(u.Address))
		if left, ok := b.draining(u.Address); ok {
			next = min(next, max(left, kickInterval))
		}

		select {
		case <-ctx.Done():
			return logged
		case <-kick:
			select {
			case <-ctx.Done():
				return logged
			case <-time.After(kickInterval - time.Since(asked)):
			}
		case <-time.After(next):
		}
	}
}

// interval returns the time until the next probe of an upstream.
func interval(u Upstream, own, best state, used bool) time.Duration {
	switch {
	case own == ready && used:
		return usedInterval
	case own == ready:
		return checkInterval
	case u.Local && best < unready:
		return localInterval
	case u.Local, best < ready:
		return retryInterval
	default:
		return checkInterval
	}
}

// probe probes an upstream once and records its state.
func (b *Balancer) probe(ctx context.Context, u Upstream) error {
	answered := false
	before, _ := b.state(u.Address)

	// reaches records that its state is at least s.
	reaches := func(s state) {
		if own, _ := b.state(u.Address); own < s {
			b.record(u.Address, s)
		}
	}

	if u.Local {
		defer time.AfterFunc(pendingAfter, func() { reaches(pending) }).Stop()
	}

	ask := func(ctx context.Context) error {
		return b.Probe(ctx, u.Address, func() {
			answered = true

			reaches(unready)
		})
	}

	var err error

	if b.replaceable(u.Address) {
		if err = within(ctx, usedTimeout, ask); isTimeout(err) && ctx.Err() == nil {
			err = within(ctx, usedTimeout, ask)
		}
	} else {
		err = ask(ctx)
	}

	if ctx.Err() != nil {
		return err
	}

	own, _ := b.state(u.Address)

	if err != nil && (before == ready || isTimeout(err)) {
		b.drain(u.Address, err)
	}

	switch {
	case err == nil:
		b.record(u.Address, ready)
	case answered:
		b.record(u.Address, unready)
	case own > silent && isBusy(err):
		b.record(u.Address, min(own, unready))
	default:
		b.record(u.Address, silent)
	}

	return err
}

// isBusy reports whether an upstream accepted the connection and timed out after that: it still runs.
func isBusy(err error) bool {
	var op *net.OpError

	return isTimeout(err) && !(errors.As(err, &op) && op.Op == "dial")
}

func isTimeout(err error) bool {
	var timeout net.Error

	return errors.As(err, &timeout) && timeout.Timeout()
}

// within calls a function with a timeout.
func within(ctx context.Context, timeout time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	return call(ctx)
}

// used reports whether there are connections to an upstream.
func (b *Balancer) used(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return len(b.open[address]) > 0
}

// replaceable reports whether an upstream is ready, and another one was, too, when it was asked last.
func (b *Balancer) replaceable(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.states[address] != ready {
		return false
	}

	for other, s := range b.states {
		if other != address && s == ready {
			return true
		}
	}

	return false
}

// kicked returns the channel that triggers a probe of an upstream at once.
func (b *Balancer) kicked(address string) (kick <-chan struct{}, forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.kicks == nil {
		b.kicks = map[string]chan struct{}{}
	}

	own := make(chan struct{}, 1)
	b.kicks[address] = own

	return own, func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		if b.kicks[address] == own {
			delete(b.kicks, address)
		}
	}
}

// kick triggers a probe of an upstream.
func (b *Balancer) kick(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.kickLocked(address)
}

// kickReady triggers a probe of the upstreams that were ready at their last probe.
func (b *Balancer) kickReady() {
	b.mu.Lock()
	defer b.mu.Unlock()

	for address, s := range b.states {
		if s == ready {
			b.kickLocked(address)
		}
	}
}

func (b *Balancer) kickLocked(address string) {
	select {
	case b.kicks[address] <- struct{}{}:
	default: // a probe is pending, or the upstream is not probed
	}
}
