// SPDX-License-Identifier: Apache-2.0

package kubeprism

import "net"

// Ready returns the number of upstreams that are ready.
func (b *Balancer) Ready() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	n := 0

	for _, s := range b.states {
		if s == ready {
			n++
		}
	}

	return n
}

// Kick triggers a probe of an upstream.
func (b *Balancer) Kick(address string) { b.kick(address) }

// Links returns the number of forwarded connections.
func (b *Balancer) Links() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	n := 0
	for _, links := range b.open {
		n += len(links)
	}

	return n
}

// Limit admits fewer connections: all at once, and the last ones of them for root only, as isRoot says.
func (b *Balancer) Limit(all, root int, isRoot func(net.Conn) bool) {
	b.limits = &limits{all, root, isRoot}
}

// OwnedByRoot reports whether the other end of a connection belongs to user 0.
func OwnedByRoot(conn net.Conn) bool { return usual.isRoot(conn) }

// Admitted returns the number of connections that count for the limit.
func (b *Balancer) Admitted() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.links
}
