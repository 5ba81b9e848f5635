// SPDX-License-Identifier: Apache-2.0

// Package kubeprism is a TCP load balancer to the cluster's API servers on every node's loopback, so that nothing on a
// node depends on a load balancer outside.
//
// On a control plane the API server beside it comes first, so that a node keeps working by itself. Of the
// others the one with the fewest connections from here does, and one at random of several: so the nodes of a cluster do not all
// use the same API server. A connection that cannot be made goes on to the next upstream, and what has failed comes last until a
// check finds it well again. An API server that takes connections and says that it is not ready, for one because its etcd has no
// quorum, comes after those that are, and its connections are closed if there is such a one: clients keep theirs as long as they can.
//
// While no upstream answers nobody listens: the connection is refused, and the client asks again at once. One that is taken and closed
// again looks like a failure on the way, which clients of Kubernetes try to get past for 10 s before they say that they failed. An upstream
// answers when it ends a TLS handshake with a certificate of the cluster: an outer load balancer takes connections also when there is nothing
// behind it.
//
// The API server beside it is an exception: one that starts takes connections seconds before it answers them, and the port is open from then
// on, as that server's own is. Clients wait up to 10 s for a handshake; those that are refused wait longer each time, up to 30 s.
package kubeprism

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
)

// Upstream is one API server.
type Upstream struct {
	Address string // host:port
	// Local is the one on this node.
	Local bool
}

// state of an upstream, the best last.
type state int

const (
	silent  state = iota // does not answer, or was not asked yet
	pending              // takes connections, on this node, and does not answer yet
	unready              // answers, and does not serve
	ready
)

// Balancer forwards connections.
type Balancer struct {
	mu        sync.Mutex
	upstreams []Upstream
	states    map[string]state
	// open are the connections to each upstream, and how each is cut.
	open  map[string]map[*link]bool
	links int
	// kicks wake those who check an upstream.
	kicks map[string]chan struct{}
	// replaced is closed when the upstreams are.
	replaced chan struct{}
	// takes is open while some upstream takes connections, answers while some answers.
	takes, answers gate

	// Probe asks an upstream whether it is ready, as a Prober's Readyz. It calls answered as soon as it knows that somebody is there. It is
	// set before Check is called.
	Probe func(ctx context.Context, address string, answered func()) error
}

// gate is open or closed.
type gate struct {
	open   bool
	turned chan struct{}
}

// set opens or closes the gate, and reports whether it was the other before.
func (g *gate) set(open bool) bool {
	if g.open == open {
		return false
	}

	g.open = open

	if g.turned != nil {
		close(g.turned)
		g.turned = nil
	}

	return true
}

// link is one forwarded connection.
type link struct{ cut func() }

// SetUpstreams replaces the upstreams. Connections that are open stay.
func (b *Balancer) SetUpstreams(upstreams []Upstream) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if slices.Equal(b.upstreams, upstreams) {
		return
	}

	b.upstreams = slices.Clone(upstreams)

	for address := range b.states {
		if !slices.ContainsFunc(upstreams, func(u Upstream) bool { return u.Address == address }) {
			delete(b.states, address)
		}
	}

	if b.replaced != nil {
		close(b.replaced)
		b.replaced = nil
	}

	b.turn()
}

// current returns the upstreams, and a channel that is closed when they are others.
func (b *Balancer) current() ([]Upstream, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.replaced == nil {
		b.replaced = make(chan struct{})
	}

	return slices.Clone(b.upstreams), b.replaced
}

// Healthy reports whether some upstream answers.
func (b *Balancer) Healthy() bool {
	healthy, _ := b.look(&b.answers)

	return healthy
}

// look returns whether a gate is open, and a channel that is closed when it turns.
func (b *Balancer) look(g *gate) (open bool, turned <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if g.turned == nil {
		g.turned = make(chan struct{})
	}

	return g.open, g.turned
}

// note notes the state of an upstream.
func (b *Balancer) note(address string, s state) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !slices.ContainsFunc(b.upstreams, func(u Upstream) bool { return u.Address == address }) {
		return // it was asked before the upstreams were replaced
	}

	if b.states == nil {
		b.states = map[string]state{}
	}

	b.states[address] = s
	b.turn()
}

// turn turns the gates by the best state of all. When no upstream answers any more all are asked at once.
func (b *Balancer) turn() {
	best := b.best()
	b.takes.set(best >= pending)

	if b.answers.set(best >= unready) && !b.answers.open {
		for address := range b.kicks {
			b.kickLocked(address)
		}
	}
}

// best is the best state of all upstreams.
func (b *Balancer) best() (best state) {
	for _, u := range b.upstreams {
		best = max(best, b.states[u.Address])
	}

	return best
}

// state returns the state of an upstream, and the best of all.
func (b *Balancer) state(address string) (own, best state) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.states[address], b.best()
}

// candidates are all upstreams in the order in which they are tried: by their states, the best first.
func (b *Balancer) candidates() []string {
	b.mu.Lock()
	defer b.mu.Unlock()

	out := slices.Clone(b.upstreams)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })

	slices.SortStableFunc(out, func(x, y Upstream) int {
		return cmp.Or(b.rank(y)-b.rank(x), len(b.open[x.Address])-len(b.open[y.Address]))
	})

	addresses := make([]string, len(out))
	for i, u := range out {
		addresses[i] = u.Address
	}

	return addresses
}

// rank is greater for an upstream of a better state, and then for the one on this node.
func (b *Balancer) rank(u Upstream) int {
	rank := 2 * int(b.states[u.Address])
	if u.Local {
		rank++
	}

	return rank
}
