// SPDX-License-Identifier: Apache-2.0

package kubeprism

// Ready returns how many upstreams are ready.
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

// Kick has an upstream asked now.
func (b *Balancer) Kick(address string) { b.kick(address) }
