// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// model is a NAT whose code is obviously correct: it searches lists, and removes entries as soon as they have expired.
// It does not choose ports: it checks those that the table has chosen.
type model struct {
	cfg      Config
	mappings []*modelMapping
	claims   []*modelSession // for each flow, the session of its answers
}

type modelMapping struct {
	proto    uint8
	inside   netip.AddrPort
	towards  string
	port     uint16
	static   bool
	sessions []*modelSession
}

type modelSession struct {
	mapping *modelMapping
	remote  netip.AddrPort
	expires time.Time
	opened  bool
	sent    map[string]bool // flags of TCP with their direction
}

func newModel(cfg Config) *model {
	cfg.setDefaults()
	m := &model{cfg: cfg}

	for _, f := range cfg.Forwards {
		proto := udp
		if f.Protocol == TCP {
			proto = tcp
		}

		m.mappings = append(m.mappings, &modelMapping{proto: proto, inside: f.To, port: f.Port, static: true})
	}

	return m
}

func (m *model) expire(now time.Time) {
	dead := func(s *modelSession) bool { return !now.Before(s.expires) }

	m.mappings = slices.DeleteFunc(m.mappings, func(one *modelMapping) bool {
		one.sessions = slices.DeleteFunc(one.sessions, dead)
		if one.static || slices.ContainsFunc(one.sessions, func(s *modelSession) bool { return s.opened }) {
			return false
		}

		one.sessions = nil

		return true
	})
	m.claims = slices.DeleteFunc(m.claims, func(s *modelSession) bool { return !slices.Contains(s.mapping.sessions, s) })
}

// event is a packet.
type event struct {
	direction Direction
	proto     uint8
	from, to  netip.AddrPort
	flags     segment
}

func (e event) remote() netip.AddrPort {
	r := e.to
	if e.direction == Inbound {
		r = e.from
	}

	if e.proto == icmp {
		return netip.AddrPortFrom(r.Addr(), 0)
	}

	return r
}

func (m *model) towards(remote netip.AddrPort) string {
	switch m.cfg.Mapping {
	case AddressDependent:
		return remote.Addr().String()
	case AddressAndPortDependent:
		return remote.String()
	}

	return "anybody"
}

func find[T any](list []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}

	return found
}

// step returns the verdict on a packet, and its new endpoints if it passes.
func (m *model) step(e event, now time.Time, chosen func() (uint16, bool)) (Verdict, netip.AddrPort, netip.AddrPort) {
	m.expire(now)

	if e.direction == Inbound {
		return m.inbound(e, now)
	}

	hairpin := e.to.Addr() == m.cfg.External

	switch {
	case hairpin && e.proto == icmp:
		return Local, e.from, e.to
	case hairpin && m.cfg.Hairpin == HairpinOff:
		return NoHairpin, e.from, e.to
	}

	v, from := m.outbound(e, now, chosen)
	if v != Pass || !hairpin {
		return v, from, e.to
	}

	v, _, to := m.inbound(event{Inbound, e.proto, from, e.to, e.flags}, now)
	if v != Pass {
		return v, from, to
	}

	if m.cfg.Hairpin == HairpinInternal {
		from = e.from
	}

	return Turn, from, to
}

func (m *model) outbound(e event, now time.Time, chosen func() (uint16, bool)) (Verdict, netip.AddrPort) {
	flow := func(s *modelSession) bool {
		return s.mapping.proto == e.proto && s.mapping.inside == e.from && s.remote == e.remote()
	}

	mapping := find(m.mappings, func(one *modelMapping) bool { return one.static && one.proto == e.proto && one.inside == e.from })
	if mapping != nil {
		return Pass, netip.AddrPortFrom(m.cfg.External, mapping.port)
	}

	session := find(m.claims, flow)
	if session == nil {
		if e.proto == tcp && e.flags != "S" {
			return NoMapping, e.from
		}

		mapping = find(m.mappings, func(one *modelMapping) bool {
			return one.proto == e.proto && one.inside == e.from && one.towards == m.towards(e.remote())
		})
		if mapping == nil {
			port, ok := chosen()
			if !ok {
				return Exhausted, e.from
			}

			mapping = &modelMapping{proto: e.proto, inside: e.from, towards: m.towards(e.remote()), port: port}
			m.mappings = append(m.mappings, mapping)
		}

		if session = find(mapping.sessions, flow); session == nil {
			session = &modelSession{mapping: mapping, remote: e.remote(), sent: map[string]bool{}}
			mapping.sessions = append(mapping.sessions, session)
		}

		m.claims = append(m.claims, session)
	}

	session.opened = true
	m.refresh(session, e, now)

	return Pass, netip.AddrPortFrom(m.cfg.External, session.mapping.port)
}

func (m *model) inbound(e event, now time.Time) (Verdict, netip.AddrPort, netip.AddrPort) {
	mapping := find(m.mappings, func(one *modelMapping) bool { return one.proto == e.proto && one.port == e.to.Port() })

	switch {
	case e.proto == icmp && e.flags != "reply":
		return Local, e.from, e.to
	case mapping == nil:
		return NoMapping, e.from, e.to
	case mapping.static:
		return Pass, e.from, mapping.inside
	}

	passes := slices.ContainsFunc(mapping.sessions, func(s *modelSession) bool {
		switch m.cfg.Filtering {
		case EndpointIndependent:
			return true
		case AddressDependent:
			return s.opened && s.remote.Addr() == e.from.Addr()
		}

		return s.opened && s.remote == e.remote()
	})
	if !passes {
		return Filtered, e.from, e.to
	}

	session := find(mapping.sessions, func(s *modelSession) bool { return s.remote == e.remote() })
	if session == nil {
		if e.proto == tcp && e.flags != "S" {
			return NoMapping, e.from, e.to
		}

		session = &modelSession{mapping: mapping, remote: e.remote(), sent: map[string]bool{}}
		mapping.sessions = append(mapping.sessions, session)
	}

	m.refresh(session, e, now)

	if find(m.claims, func(s *modelSession) bool {
		return s.mapping.proto == e.proto && s.mapping.inside == mapping.inside && s.remote == e.remote()
	}) == nil {
		m.claims = append(m.claims, session)
	}

	return Pass, e.from, mapping.inside
}

func (m *model) refresh(s *modelSession, e event, now time.Time) {
	switch e.proto {
	case tcp:
		closed := s.sent["R"] || s.sent["out F"] && s.sent["in F"]
		if closed && e.flags == "S" {
			clear(s.sent)
		}

		for _, f := range []string{"S", "F"} {
			if strings.Contains(string(e.flags), f) {
				s.sent[map[Direction]string{Outbound: "out ", Inbound: "in "}[e.direction]+f] = true
			}
		}

		if strings.Contains(string(e.flags), "R") {
			s.sent["R"] = true
		}

		s.expires = now.Add(m.cfg.TCPTransitoryTimeout)

		if s.sent["out S"] && s.sent["in S"] && !s.sent["R"] && !(s.sent["out F"] && s.sent["in F"]) {
			s.expires = now.Add(m.cfg.TCPEstablishedTimeout)
		}
	case icmp:
		if e.direction == Outbound || m.cfg.RefreshInbound || !s.opened {
			s.expires = now.Add(m.cfg.ICMPTimeout)
		}
	default:
		if e.direction == Outbound || m.cfg.RefreshInbound || !s.opened {
			s.expires = now.Add(m.cfg.UDPTimeout)
		}
	}
}

// mayChoose returns an error for a wrong port of a new mapping.
func (m *model) mayChoose(proto uint8, internal, port uint16) error {
	taken := func(p uint16) bool {
		return find(m.mappings, func(one *modelMapping) bool { return one.proto == proto && one.port == p }) != nil
	}

	switch {
	case port < m.cfg.FirstPort || port > m.cfg.LastPort:
		return fmt.Errorf("port %d is out of the range", port)
	case taken(port):
		return fmt.Errorf("port %d is taken", port)
	case m.cfg.Allocation == Preserve && internal >= m.cfg.FirstPort && internal <= m.cfg.LastPort && port != internal && !taken(internal):
		return fmt.Errorf("port %d was not preserved: got %d", internal, port)
	}

	return nil
}

func (m *model) full(proto uint8) bool {
	taken := map[uint16]bool{}

	for _, one := range m.mappings {
		if one.proto == proto && one.port >= m.cfg.FirstPort && one.port <= m.cfg.LastPort {
			taken[one.port] = true
		}
	}

	return len(taken) == int(m.cfg.LastPort-m.cfg.FirstPort)+1
}

// history is a source of random packets for a NAT.
type history struct {
	*rand.Rand
	cfg Config
}

func (h *history) event() event {
	inside := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(1 + h.IntN(3))}), uint16(5000+h.IntN(3)))
	remote := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + h.IntN(3))}), uint16(80+h.IntN(2)))
	external := netip.AddrPortFrom(h.cfg.External, h.cfg.FirstPort+uint16(h.IntN(int(h.cfg.LastPort-h.cfg.FirstPort)+1)))

	if h.IntN(8) == 0 {
		external = at("198.51.100.1:443")
	}

	e := event{proto: []uint8{udp, udp, tcp, tcp, icmp}[h.IntN(5)]}

	switch h.IntN(8) {
	case 0:
		e.from, e.to = inside, external // a hairpin
	case 1, 2, 3:
		e.from, e.to = inside, remote
	default:
		e.direction, e.from, e.to = Inbound, remote, external
	}

	switch e.proto {
	case tcp:
		e.flags = []segment{"S", "S", "SA", "A", "A", "FA", "R"}[h.IntN(7)]
	case icmp:
		if e.direction == Inbound && h.IntN(8) > 0 {
			e.flags = "reply"
		}
	}

	return e
}

func (h *history) pause() time.Duration {
	switch h.IntN(60) {
	case 0:
		return time.Duration(h.IntN(400)) * time.Second
	case 1:
		return h.cfg.UDPTimeout
	default:
		return time.Duration(h.IntN(2000)) * time.Millisecond
	}
}

// TestAgainstModel sends random packets at random times through tables of all behaviors, and compares each verdict with
// that of the model.
func TestAgainstModel(t *testing.T) {
	const packets = 600

	seed := uint64(0)
	seen := map[Verdict]int{}

	for _, mapping := range Behaviors {
		for _, filtering := range Behaviors {
			for _, allocation := range []Allocation{Preserve, Sequential, Random} {
				for _, hairpin := range []Hairpin{HairpinOff, HairpinExternal, HairpinInternal} {
					seed++

					cfg := Config{
						External: netip.MustParseAddr("198.51.100.1"), Mapping: mapping, Filtering: filtering, Allocation: allocation, Hairpin: hairpin,
						FirstPort: 4998, LastPort: 5004, RefreshInbound: seed%2 == 0, UDPTimeout: 2 * time.Minute, Seed: seed,
						Forwards: []Forward{{TCP, 443, at("10.0.0.1:5000")}, {UDP, 5001, at("10.0.0.2:5002")}},
					}
					t.Run(fmt.Sprintf("%s/%s/%s/hairpin=%s", mapping, filtering, allocation, hairpin), func(t *testing.T) {
						checkHistory(t, cfg, packets, seen)
					})
				}
			}
		}
	}

	// Each case must occur.
	for _, v := range []Verdict{Pass, Turn, Local, NoMapping, Filtered, Exhausted, NoHairpin} {
		if seen[v] < 100 {
			t.Errorf("got %d packets with verdict %q, want at least 100", seen[v], v)
		}
	}
}

func checkHistory(t *testing.T, cfg Config, packets int, seen map[Verdict]int) {
	table, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}

	m := newModel(cfg)
	h := &history{rand.New(rand.NewPCG(cfg.Seed, 1)), m.cfg}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

	for i := range packets {
		now = now.Add(h.pause())
		e := h.event()
		b := probe(t, e.proto, e.from, e.to, e.flags, "hello")

		got := table.Translate(e.direction, b, now)
		seen[got]++

		var from, to netip.AddrPort
		if got == Pass || got == Turn {
			from, to = ends(t, b)
		}

		// The port of a hairpin is only visible outside, so it is read from the table.
		chosen := func() (uint16, bool) {
			for _, one := range table.ports {
				local := netip.AddrPortFrom(netip.AddrFrom4(one.key.local.addr), one.key.local.port)
				known := func(o *modelMapping) bool { return o.proto == one.key.proto && o.port == one.port }

				// Expired entries may still be in the table.
				if one.live(now) && one.key.proto == e.proto && local == e.from && find(m.mappings, known) == nil {
					if err := m.mayChoose(e.proto, e.from.Port(), one.port); err != nil {
						t.Fatalf("packet %d, %+v: %v", i, e, err)
					}

					return one.port, true
				}
			}

			if !m.full(e.proto) {
				t.Fatalf("packet %d, %+v: no port was chosen though there are free ones", i, e)
			}

			return 0, false
		}

		want, wantFrom, wantTo := m.step(e, now, chosen)
		if got != want || from.IsValid() && (insideOf(e, from) != insideOf(e, wantFrom) || insideOf(e, to) != insideOf(e, wantTo)) {
			t.Fatalf("packet %d at %v, %+v: got %v, %v > %v, want %v, %v > %v", i, now.Format(time.TimeOnly), e, got, from, to, want, wantFrom, wantTo)
		}
	}
}

// insideOf removes the remote port of an ICMP query.
func insideOf(e event, a netip.AddrPort) netip.AddrPort {
	if e.proto == icmp && a.Addr() == e.remote().Addr() {
		return netip.AddrPortFrom(a.Addr(), 0)
	}

	return a
}
