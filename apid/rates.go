// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// Limits of the rate of connections. Each costs a TLS handshake, about 0.3 ms of a processor. talosctl connects once for a
// command, an apid once for a node.
const (
	// handshakesOfHost in a second, and at once.
	handshakesOfHost, handshakesOfHostAtOnce = 32, 512
	// handshakesOfStrangers in a second, and at once, for all hosts together that were not admitted lately: an attacker with a
	// large network has many hosts.
	handshakesOfStrangers, handshakesOfStrangersAtOnce = 256, 1024
	// lately is how long a host stays known after one of its connections was admitted.
	lately = 24 * time.Hour
	// maxHosts is how many hosts have an account of their own.
	maxHosts = 4096
)

// rates limit how often hosts connect. The listener guards them.
type rates struct {
	strangers *rate.Limiter
	hosts     map[netip.Prefix]*host
	swept     time.Time
}

type host struct {
	account *rate.Limiter
	inside  time.Time // last
}

func newRates() *rates {
	return &rates{strangers: rate.NewLimiter(handshakesOfStrangers, handshakesOfStrangersAtOnce), hosts: map[netip.Prefix]*host{}}
}

// known reports whether a connection of the host was admitted lately.
func (r *rates) known(p netip.Prefix, now time.Time) bool {
	h := r.hosts[p]

	return h != nil && !h.inside.IsZero() && now.Sub(h.inside) < lately
}

// allow takes one handshake from the accounts of a host.
func (r *rates) allow(p netip.Prefix, now time.Time) bool {
	h := r.host(p, now)
	if h != nil && !h.account.AllowN(now, 1) {
		return false
	}

	return r.known(p, now) || r.strangers.AllowN(now, 1)
}

// entered records that a connection of a host was admitted.
func (r *rates) entered(p netip.Prefix, now time.Time) {
	if h := r.host(p, now); h != nil {
		h.inside = now
	}
}

// host returns the account of a host, nil if there are too many: then only the account of all strangers counts.
func (r *rates) host(p netip.Prefix, now time.Time) *host {
	if h := r.hosts[p]; h != nil {
		return h
	}

	if len(r.hosts) >= maxHosts && !r.sweep(now) {
		return nil
	}

	h := &host{account: rate.NewLimiter(handshakesOfHost, handshakesOfHostAtOnce)}
	r.hosts[p] = h

	return h
}

// sweep removes unknown hosts with a full account, which a new account would equal. It runs at most once a second, and reports
// whether there is room.
func (r *rates) sweep(now time.Time) bool {
	if now.Sub(r.swept) < time.Second {
		return false
	}

	r.swept = now

	for p, h := range r.hosts {
		if !r.known(p, now) && h.account.TokensAt(now) >= handshakesOfHostAtOnce {
			delete(r.hosts, p)
		}
	}

	return len(r.hosts) < maxHosts
}
