// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// How often somebody may come. Each time costs a TLS handshake, some 0.3 ms of a processor. talosctl comes once for a command,
// an apid once for a node.
const (
	// handshakesOfHost in a second, and at once.
	handshakesOfHost, handshakesOfHostAtOnce = 32, 512
	// handshakesOfStrangers in a second, and at once, are for all hosts together that were not inside lately: whoever has a
	// large network has many hosts.
	handshakesOfStrangers, handshakesOfStrangersAtOnce = 256, 1024
	// lately is how long a host is known by that somebody of it was inside.
	lately = 24 * time.Hour
	// maxHosts that have an account of their own.
	maxHosts = 4096
)

// rates are how often hosts come. The listener guards it.
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

// known reports whether somebody of a host was inside lately.
func (r *rates) known(p netip.Prefix, now time.Time) bool {
	h := r.hosts[p]

	return h != nil && !h.inside.IsZero() && now.Sub(h.inside) < lately
}

// allow takes one handshake off the accounts of a host.
func (r *rates) allow(p netip.Prefix, now time.Time) bool {
	h := r.host(p, now)
	if h != nil && !h.account.AllowN(now, 1) {
		return false
	}

	return r.known(p, now) || r.strangers.AllowN(now, 1)
}

// entered notes that somebody of a host has come in.
func (r *rates) entered(p netip.Prefix, now time.Time) {
	if h := r.host(p, now); h != nil {
		h.inside = now
	}
}

// host returns the account of a host, nil if there are too many: then it has what strangers have together.
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

// sweep forgets hosts that a new account would be the same for, at most once a second. It reports whether there is room.
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
