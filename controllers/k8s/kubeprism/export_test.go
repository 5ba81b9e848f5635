// SPDX-License-Identifier: Apache-2.0

package kubeprism

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

	return b.links
}
