// SPDX-License-Identifier: Apache-2.0

// Package balance is the load balancer of a lab with several control planes: one address that leads to any API server that is ready. Users'
// kubeconfigs and the machines' configurations name it, so that both outlive each control plane.
//
// Each server is asked once a second whether it is ready. A new connection goes to a ready server, to the one with the fewest connections; one
// that does not accept it at once does not delay it. When a server is not ready any more and another one is, its connections are closed:
// clients would wait for a machine without power as long as they can. One that says so itself, or refuses connections, has some seconds for the
// requests that it has begun.
//
// It knows neither certificates nor the machines' power: a server is what answers.
package balance

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// Target is a server behind the balancer.
type Target struct {
	Name string
	Dial func(context.Context) (net.Conn, error)
}

// Balancer forwards connections.
type Balancer struct {
	log *slog.Logger

	mu      sync.Mutex
	targets []*target
}

// target is a server and what is known of it.
type target struct {
	Target
	ready bool
	// drains is until when the connections to a server that is not ready any more are left open.
	drains time.Time
	open   map[*link]bool
}

// link is one forwarded connection; cut ends it.
type link struct{ cut func() }

// New returns a balancer of servers, of which none counts as ready before Check has asked it.
func New(log *slog.Logger, targets ...Target) *Balancer {
	b := &Balancer{log: log}
	for _, t := range targets {
		b.targets = append(b.targets, &target{Target: t, open: map[*link]bool{}})
	}

	return b
}

// order returns the servers in the order in which they are tried.
func (b *Balancer) order() []*target {
	b.mu.Lock()
	defer b.mu.Unlock()

	rank := func(t *target) int {
		if t.ready {
			return 0
		}

		return 1
	}

	out := slices.Clone(b.targets)
	slices.SortStableFunc(out, func(x, y *target) int { return cmp.Or(rank(x)-rank(y), len(x.open)-len(y.open)) })

	return out
}

// record records whether a server has answered that it is ready. While another one is ready, the connections to those that are not are closed.
func (b *Balancer) record(t *target, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	before := t.ready
	if t.ready = err == nil; before && !t.ready && !isTimeout(err) {
		t.drains = time.Now().Add(drainTime) // it may be ending: its requests have some time
	}

	if isTimeout(err) {
		t.drains = time.Time{}
	}

	switch {
	case t.ready && !before:
		b.log.Info("an API server is ready", "machine", t.Name)
	case before && !t.ready:
		b.log.Info("an API server is not ready", "machine", t.Name, "error", err)
	}

	if !slices.ContainsFunc(b.targets, func(t *target) bool { return t.ready }) {
		return // all may be unready for the same reason
	}

	for _, t := range b.targets {
		if !t.ready && time.Now().After(t.drains) {
			for l := range t.open {
				l.cut()
			}
		}
	}
}

// hold counts a connection until release is called.
func (t *target) hold(b *Balancer, l *link) (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()

	t.open[l] = true

	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(t.open, l)
	}
}
