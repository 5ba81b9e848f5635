// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Translate returns the verdict on an IPv4 packet, and translates it in place. The content of a dropped packet is
// undefined. Times must not go backwards.
func (t *Table) Translate(d Direction, b []byte, now time.Time) Verdict {
	if now.Sub(t.swept) >= sweepEvery {
		t.sweep(now)
	}

	p, ok := parse(b)

	switch {
	case !ok:
		return Malformed
	case p.proto != tcp && p.proto != udp && p.proto != icmp:
		return Unsupported
	case d == Inbound:
		return t.inbound(&p, now)
	}

	hairpin := p.dst.addr == t.external

	switch {
	case hairpin && !p.later && p.isQuery():
		return Local
	case hairpin && t.cfg.Hairpin == HairpinOff:
		return NoHairpin
	case hairpin:
		return t.hairpin(&p, now)
	default:
		return t.outbound(&p, now)
	}
}

// hairpin sends a packet out and in again.
func (t *Table) hairpin(p *packet, now time.Time) Verdict {
	from := p.src

	if v := t.outbound(p, now); v.Dropped() {
		return v
	}

	if v := t.inbound(p, now); v.Dropped() {
		return v
	}

	if t.cfg.Hairpin == HairpinInternal && !p.isError() {
		p.setSource(from)
	}

	return Turn
}

func (t *Table) outbound(p *packet, now time.Time) Verdict {
	switch {
	case p.later:
		return t.follow(p, Outbound, now)
	case p.isError():
		return t.outboundError(p, now)
	case p.proto == icmp && !p.isQuery():
		return Unsupported
	}

	flow := flowKey{p.proto, p.src, p.remote(Outbound)}
	m := t.static(flow)

	if m == nil {
		s := t.sessionOf(flow, now)
		if s == nil {
			var v Verdict
			if s, v = t.begin(p, flow, now); v.Dropped() {
				return v
			}
		}

		t.refresh(s, p, Outbound, now)
		m = s.mapping
	}

	t.remember(p, Outbound, endpoint{addr: t.external}, now)
	p.setSource(endpoint{t.external, m.port})

	return Pass
}

// begin opens a session from inside.
func (t *Table) begin(p *packet, flow flowKey, now time.Time) (*session, Verdict) {
	if p.proto == tcp && !isOpening(header.TCP(p.l4)) {
		return nil, NoMapping
	}

	m := t.mappingOf(flow, now)
	if m == nil {
		if m = t.mapNew(flow, now); m == nil {
			return nil, Exhausted
		}
	}

	s := t.open(m, flow.remote, now)
	if s == nil {
		return nil, Exhausted
	}

	t.claim(s, now)

	return s, Pass
}

func (t *Table) inbound(p *packet, now time.Time) Verdict {
	switch {
	case p.dst.addr != t.external:
		return NoMapping
	case p.later:
		return t.follow(p, Inbound, now)
	case p.isError():
		return t.inboundError(p, now)
	case p.isQuery():
		return Local
	case p.proto == icmp && !p.isReply():
		return Unsupported
	}

	m := t.alive(t.ports[portKey{p.proto, p.dst.port}], now)
	if m == nil {
		return NoMapping
	}

	if !m.static {
		if v := t.admit(m, p, now); v.Dropped() {
			return v
		}
	}

	t.remember(p, Inbound, endpoint{addr: m.key.local.addr}, now)
	p.setDestination(m.key.local)

	return Pass
}

// admit filters an inbound packet for a mapping.
func (t *Table) admit(m *mapping, p *packet, now time.Time) Verdict {
	remote := p.remote(Inbound)

	s := m.sessions[remote]
	if s != nil && !s.live(now) {
		s = nil
	}

	if !t.letsIn(m, s, remote, now) {
		return Filtered
	}

	if s == nil {
		if p.proto == tcp && !isOpening(header.TCP(p.l4)) {
			return NoMapping
		}

		if s = t.open(m, remote, now); s == nil {
			return Exhausted
		}
	}

	t.refresh(s, p, Inbound, now)

	if !s.opened {
		t.claim(s, now)
	}

	return Pass
}

// letsIn reports whether the filter of a mapping accepts a remote endpoint, with its live session or nil.
func (t *Table) letsIn(m *mapping, s *session, remote endpoint, now time.Time) bool {
	switch {
	case s != nil && s.opened, t.cfg.Filtering == EndpointIndependent:
		return true
	case t.cfg.Filtering == AddressDependent:
		return m.opened(now, func(s *session) bool { return s.remote.addr == remote.addr })
	default:
		return false
	}
}
