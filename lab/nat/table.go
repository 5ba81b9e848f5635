// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"
)

// sweepEvery is how often expired entries are removed from memory. Verdicts do not depend on it.
const sweepEvery = 10 * time.Second

// fullSweepEvery is how often a full table looks for expired sessions.
const fullSweepEvery = time.Second

// Table is a NAT with its mappings and sessions.
type Table struct {
	cfg      Config
	external [4]byte

	flows  map[flowKey]*session    // by both ends: the session of the answers
	inside map[flowKey]*mapping    // by the internal endpoint and the part of the remote one that mapping depends on
	ports  map[portKey]*mapping    // by the external port
	parts  map[partKey]translation // of expected fragments

	sessions int    // of all mappings
	next     uint16 // port after the last one
	rand     *rand.Rand
	swept    time.Time
}

// flowKey identifies a session or, with a part of the remote endpoint, a mapping.
type flowKey struct {
	proto         uint8
	local, remote endpoint
}

type portKey struct {
	proto uint8
	port  uint16
}

// mapping joins an internal endpoint with a port of the external address.
type mapping struct {
	key  flowKey // local, and the part of remote that the mapping depends on
	port uint16
	// static mappings are forwards. They have no sessions.
	static   bool
	sessions map[endpoint]*session
}

// session is the traffic between a mapping and one remote endpoint.
type session struct {
	mapping *mapping
	remote  endpoint
	expires time.Time
	// opened is set by the first outbound packet. A session with only inbound packets does not refresh a mapping or
	// open a filter.
	opened bool
	tcp    tcpState
}

func (s *session) live(now time.Time) bool { return now.Before(s.expires) }

func (m *mapping) live(now time.Time) bool {
	return m.static || m.opened(now, func(*session) bool { return true })
}

// opened reports whether a live session that some selects was opened from inside.
func (m *mapping) opened(now time.Time, some func(*session) bool) bool {
	for _, s := range m.sessions {
		if s.opened && s.live(now) && some(s) {
			return true
		}
	}

	return false
}

// New returns a table with no mappings but the forwards.
func New(cfg Config) (*Table, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	if !cfg.External.IsValid() {
		return nil, errors.New("the external address is missing")
	}

	cfg.setDefaults()

	t := &Table{
		cfg: cfg, external: cfg.External.As4(),
		flows: map[flowKey]*session{}, inside: map[flowKey]*mapping{}, ports: map[portKey]*mapping{},
		parts: map[partKey]translation{},
		next:  cfg.FirstPort, rand: rand.New(rand.NewPCG(cfg.Seed, 0)),
	}

	for _, f := range cfg.Forwards {
		proto := map[Protocol]uint8{TCP: tcp, UDP: udp}[f.Protocol]
		m := &mapping{static: true, port: f.Port, key: flowKey{proto: proto, local: endpoint{f.To.Addr().As4(), f.To.Port()}}}
		t.inside[m.key], t.ports[portKey{proto, f.Port}] = m, m
	}

	return t, nil
}

// External returns the external address.
func (t *Table) External() netip.Addr { return t.cfg.External }

// dependsOn returns the part of a remote endpoint that mapping depends on.
func (t *Table) dependsOn(remote endpoint) endpoint {
	switch t.cfg.Mapping {
	case AddressAndPortDependent:
		return remote
	case AddressDependent:
		return endpoint{addr: remote.addr}
	default:
		return endpoint{}
	}
}

// mappingOf returns the live mapping of an internal endpoint towards a remote one, or nil.
func (t *Table) mappingOf(flow flowKey, now time.Time) *mapping {
	if m := t.static(flow); m != nil {
		return m
	}

	if s := t.sessionOf(flow, now); s != nil {
		return s.mapping
	}

	flow.remote = t.dependsOn(flow.remote)

	return t.alive(t.inside[flow], now)
}

func (t *Table) static(flow flowKey) *mapping {
	if len(t.cfg.Forwards) == 0 {
		return nil
	}

	flow.remote = endpoint{}
	if m := t.inside[flow]; m != nil && m.static {
		return m
	}

	return nil
}

// sessionOf returns a live session, or nil.
func (t *Table) sessionOf(flow flowKey, now time.Time) *session {
	s := t.flows[flow]
	if s == nil || !s.live(now) || !s.opened && t.alive(s.mapping, now) == nil {
		return nil
	}

	return s
}

// alive returns a mapping that is alive. It removes another one and returns nil.
func (t *Table) alive(m *mapping, now time.Time) *mapping {
	if m == nil || m.live(now) {
		return m
	}

	t.forget(m)

	return nil
}

// open returns the session of a mapping with a remote endpoint, or nil if the table is full.
func (t *Table) open(m *mapping, remote endpoint, now time.Time) *session {
	s := m.sessions[remote]

	switch {
	case s != nil && s.live(now):
		return s
	case s != nil:
		*s = session{mapping: m, remote: remote}
	case t.sessions >= t.cfg.Sessions:
		if now.Sub(t.swept) >= fullSweepEvery {
			t.sweep(now)

			return t.open(m, remote, now)
		}

		return nil
	default:
		s = &session{mapping: m, remote: remote}
		m.sessions[remote] = s
		t.sessions++
	}

	return s
}

// claim makes a session that of its flow's answers, unless the flow has a live one: a flow keeps its mapping.
func (t *Table) claim(s *session, now time.Time) {
	if t.sessionOf(s.flow(), now) == nil {
		t.flows[s.flow()] = s
	}
}

func (s *session) flow() flowKey {
	return flowKey{s.mapping.key.proto, s.mapping.key.local, s.remote}
}

func (t *Table) forget(m *mapping) {
	for _, s := range m.sessions {
		t.end(s)
	}

	delete(t.inside, m.key)
	delete(t.ports, portKey{m.key.proto, m.port})
}

func (t *Table) end(s *session) {
	delete(s.mapping.sessions, s.remote)
	t.sessions--

	// The flow may belong to another mapping by now.
	if t.flows[s.flow()] == s {
		delete(t.flows, s.flow())
	}
}

// sweep removes expired entries from memory.
func (t *Table) sweep(now time.Time) {
	t.swept = now

	for _, m := range t.ports {
		if t.alive(m, now) == nil {
			continue
		}

		for _, s := range m.sessions {
			if !s.live(now) {
				t.end(s)
			}
		}
	}

	for key, part := range t.parts {
		if !now.Before(part.expires) {
			delete(t.parts, key)
		}
	}
}
