// SPDX-License-Identifier: Apache-2.0

// Package kubeprism is a TCP load balancer to the cluster's API servers on every node's loopback, so that no program on a node depends on an
// external load balancer.
//
// On a control plane the local API server comes first, so that the node works on its own. Of the others the one with the fewest connections
// from this node comes first, in random order if there are several, so that the nodes of a cluster do not all use the same API server. When a
// connection fails the next upstream is tried, and the failed one comes last until a probe succeeds. An API server that accepts connections
// but reports that it is not ready, for example because its etcd has no quorum, comes after those that are ready. Its connections are closed
// when another one is ready: clients would keep them as long as they can. One that says so itself, or refuses new connections, may be ending: it
// has some seconds for the requests that it has begun.
//
// While no upstream answers, the port is closed: connections are refused, and clients try again at once. A connection that is accepted and
// then closed looks like a failure of the network, and clients of Kubernetes try for 10 s before they report it. An upstream answers when it
// completes a TLS handshake with a certificate of the cluster: an external load balancer accepts connections even without a server behind it.
//
// The local API server is an exception, since clients wait up to 10 s for a handshake, and after a refused connection longer each time, up to
// 30 s. While it starts it accepts connections seconds before it answers them, and the port is open from then on. Connections are forwarded once
// an upstream answers: an API server that starts would spend its first seconds on the handshakes of clients that have given up.
//
// Before it accepts them, connections must not wait. A kubelet that finds volumes from before a reboot asks for its Node in the loop that also mounts the
// volumes of static pods (updateReconstructedFromNodeStatus of its volume manager). So the API server's pod would wait for 10 s at each step.
package kubeprism

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
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
	silent  state = iota // does not answer, or was not probed yet
	pending              // on this node, accepts connections and does not answer yet
	unready              // answers that it is not ready
	ready
)

// Balancer forwards connections.
type Balancer struct {
	mu        sync.Mutex
	upstreams []Upstream
	states    map[string]state
	// open has the connections to each upstream.
	open map[string]map[*link]bool
	// links is the number of connections that are admitted, also while no upstream has accepted them yet.
	links int
	// limits are set by tests.
	limits *limits
	// drains are the ends of the times for which the connections to upstreams that end are left open.
	drains map[string]time.Time
	// kicks trigger a probe of an upstream.
	kicks map[string]chan struct{}
	// replaced is closed when the upstreams are.
	replaced chan struct{}
	// answers is open while an upstream answers, port while the balancer accepts connections.
	answers, port gate

	// Probe asks an upstream whether it is ready, as Prober.Readyz does. It calls answered as soon as the upstream has answered. It is set before
	// Check is called.
	Probe func(ctx context.Context, address string, answered func()) error
}

// gate is open or closed.
type gate struct {
	open   bool
	turned chan struct{}
}

// set opens or closes the gate, and reports whether that changed it.
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

// SetUpstreams replaces the upstreams. Open connections stay.
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

// current returns the upstreams, and a channel that is closed when they are replaced.
func (b *Balancer) current() ([]Upstream, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.replaced == nil {
		b.replaced = make(chan struct{})
	}

	return slices.Clone(b.upstreams), b.replaced
}

// Healthy reports whether an upstream answers.
func (b *Balancer) Healthy() bool {
	healthy, _ := b.look(&b.answers)

	return healthy
}

// look returns whether a gate is open, and a channel that is closed when that changes.
func (b *Balancer) look(g *gate) (open bool, turned <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if g.turned == nil {
		g.turned = make(chan struct{})
	}

	return g.open, g.turned
}

// record records the state of an upstream.
func (b *Balancer) record(address string, s state) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if !slices.ContainsFunc(b.upstreams, func(u Upstream) bool { return u.Address == address }) {
		return // the upstreams were replaced during the probe
	}

	if b.states == nil {
		b.states = map[string]state{}
	}

	if b.states[address] = s; s == ready {
		delete(b.drains, address)
	}

	b.turn()
}

// drain leaves the connections to an upstream that was ready open for drainTime, if it has answered or refused. One that is silent has no
// such time.
func (b *Balancer) drain(address string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if isTimeout(err) {
		delete(b.drains, address)

		return
	}

	if b.drains == nil {
		b.drains = map[string]time.Time{}
	}

	b.drains[address] = time.Now().Add(drainTime)
}

// draining returns how long the connections to an upstream are left open.
func (b *Balancer) draining(address string) (left time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	end, ok := b.drains[address]

	return time.Until(end), ok
}

// drained reports whether that time has just passed.
func (b *Balancer) drained(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	end, ok := b.drains[address]
	if !ok || time.Now().Before(end) {
		return false
	}

	delete(b.drains, address)

	return true
}

// turn sets the gates by the best state of all. When no upstream answers any more, all are probed at once.
func (b *Balancer) turn() {
	best := b.best()
	b.port.set(best >= pending)

	if b.answers.set(best >= unready) && !b.answers.open {
		for address := range b.kicks {
			b.kickLocked(address)
		}
	}
}

// best returns the best state of all upstreams.
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

// candidates returns all upstreams in the order in which they are tried: the best state first.
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

// rank is higher for an upstream in a better state and, in the same state, for the one on this node.
func (b *Balancer) rank(u Upstream) int {
	rank := 2 * int(b.states[u.Address])
	if u.Local {
		rank++
	}

	return rank
}
