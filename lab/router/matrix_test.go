// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/lab/nat"
)

// access is a site's connection to the world.
type access struct {
	name               string
	open, blocked      bool
	mapping, filtering nat.Behavior
}

// kinds are the six of the matrix, combinations all nine.
func kinds() []access {
	list := []access{{name: "open", open: true}}

	for _, k := range nat.Kinds {
		mapping, filtering, _ := k.Behaviors()
		list = append(list, access{name: string(k), mapping: mapping, filtering: filtering})
	}

	return append(list, access{name: "udp-blocked", blocked: true})
}

func combinations() []access {
	var list []access

	for _, m := range nat.Behaviors {
		for _, f := range nat.Behaviors {
			list = append(list, access{name: fmt.Sprintf("%s/%s", m, f), mapping: m, filtering: f})
		}
	}

	return list
}

// reaches predicts, by the definitions of RFC 4787, whether a probe of a arrives at b's endpoint as a server saw it,
// while b probes a's endpoint as the server saw it.
//
// Section 4.1: if b's mapping is endpoint-independent, b's probes leave from that endpoint too. Otherwise they leave
// from another one, since server and a have different addresses, and the filter of the first endpoint knows only the
// server. Section 5: b accepts a's probe if b has no filter, or b has sent to a's address, or b has sent to the source
// endpoint of the probe. The latter is the endpoint that the server saw if a's mapping is endpoint-independent.
func reaches(a, b access) bool {
	switch {
	case b.open || b.filtering == nat.EndpointIndependent:
		return true
	case !b.sameEndpoint():
		return false
	case b.filtering == nat.AddressDependent:
		return true
	default:
		return a.sameEndpoint()
	}
}

func (a access) sameEndpoint() bool { return a.open || a.mapping == nat.EndpointIndependent }

// answered predicts whether b's answer to a received probe arrives at a. It comes from the endpoint that a probed,
// unless b has another mapping for the probe's source: that is so if b has probed this endpoint and b's mapping is not
// endpoint-independent. Then a's filter must not depend on ports.
func answered(a, b access) bool {
	return b.sameEndpoint() || !a.sameEndpoint() || a.open || a.filtering != nat.AddressAndPortDependent
}

// predicted predicts whether two hosts reach each other directly: the probe of one of them is answered. The server sees
// the endpoints of RFC 5780, section 4.3.
func predicted(a, b access) bool {
	talks := func(a, b access) bool { return reaches(a, b) && answered(a, b) }

	return !a.blocked && !b.blocked && (talks(a, b) || talks(b, a))
}

const (
	firstPair  = 5000
	stunServer = "198.51.100.200:3478"
)

// agent is one end of a pair: it asks the server for its endpoint, and probes the other's.
type agent struct {
	host *host
	port uint16

	mu        sync.Mutex
	reflexive netip.AddrPort
	connected bool
}

func (a *agent) receive(from netip.AddrPort, payload string) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()

	if seen, ok := strings.CutPrefix(payload, "binding "); ok && from.String() == stunServer {
		a.reflexive = netip.MustParseAddrPort(seen)
	}

	switch payload {
	case "ping":
		return []byte("pong")
	case "pong":
		a.connected = true
	}

	return nil
}

func (a *agent) state() (netip.AddrPort, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()

	return a.reflexive, a.connected
}

// site puts a host behind a router of a kind.
func site(w world, number int, k access, open []Route) *hostAgents {
	inside, outside := card(byte(2*number)), card(byte(2*number+1))
	network := fmt.Sprintf("10.0.%d.", number)

	world := Leg{Name: "world", MAC: outside, Addresses: prefixes(fmt.Sprintf("198.51.100.%d/24", number)), Setting: Setting{BlockUDP: k.blocked}}

	switch {
	case k.open:
		network = fmt.Sprintf("203.0.%d.", number)
	default:
		world.NAT = &nat.Config{Mapping: k.mapping, Filtering: k.filtering}
	}

	w.addRouter(Config{
		Legs:   []Leg{{Name: fmt.Sprintf("site-%d", number), MAC: inside, Addresses: prefixes(network + "1/24")}, world},
		Routes: open,
	}, network, "world")

	h := &hostAgents{host: host{mac: card(byte(100 + number)), gateway: inside, addr: netip.MustParseAddr(network + "2")}, agents: map[uint16]*agent{}}
	h.answer = func(port uint16, from netip.AddrPort, payload string) []byte {
		if a := h.agents[port]; a != nil {
			return a.receive(from, payload)
		}

		return nil
	}
	w.addHost(&h.host, network)

	return h
}

type hostAgents struct {
	host
	agents map[uint16]*agent
}

// matrix connects a host behind each kind with one behind each kind, all at once on different ports, and returns how
// many pairs were as predicted.
func matrix(t *testing.T, w world, list []access, round time.Duration) (right int) {
	var (
		hosts [2][]*hostAgents
		open  []Route
	)

	for side := range 2 {
		for i, k := range list {
			if number := 1 + 2*i + side; k.open {
				open = append(open, Route{Destination: prefix(fmt.Sprintf("203.0.%d.0/24", number)), Gateway: netip.MustParseAddr(fmt.Sprintf("198.51.100.%d", number))})
			}
		}
	}

	for side := range 2 {
		for i, k := range list {
			hosts[side] = append(hosts[side], site(w, 1+2*i+side, k, open))
		}
	}

	server := netip.MustParseAddrPort(stunServer)
	w.addHost(&host{mac: card(250), addr: server.Addr(), answer: func(_ uint16, from netip.AddrPort, _ string) []byte {
		return []byte("binding " + from.String())
	}}, "world")

	type pair struct{ a, b *agent }

	var pairs []pair

	for i := range list {
		for j := range list {
			port := uint16(firstPair + len(pairs))
			p := pair{&agent{host: &hosts[0][i].host, port: port}, &agent{host: &hosts[1][j].host, port: port}}
			hosts[0][i].agents[port], hosts[1][j].agents[port] = p.a, p.b
			pairs = append(pairs, p)
		}
	}

	for range 2 { // the first may be lost while neighbors are unknown
		for _, p := range pairs {
			p.a.host.datagram(p.a.port, server, "bind")
			p.b.host.datagram(p.b.port, server, "bind")
		}

		w.pass(round)
	}

	for range 4 {
		for _, p := range pairs {
			endA, _ := p.a.state()
			endB, _ := p.b.state()

			if endA.IsValid() && endB.IsValid() {
				p.a.host.datagram(p.a.port, endB, "ping")
				p.b.host.datagram(p.b.port, endA, "ping")
			}
		}

		w.pass(round)
	}

	for i, a := range list {
		for j, b := range list {
			p := pairs[i*len(list)+j]
			_, one := p.a.state()
			_, other := p.b.state()

			if got, want := one || other, predicted(a, b); got == want {
				right++
			} else {
				t.Errorf("%s with %s: got direct %v, want %v", a.name, b.name, got, want)
			}
		}
	}

	return right
}

func TestMatrix(t *testing.T) {
	right := matrix(t, newVirtualWorld(t), kinds(), time.Second)
	fmt.Printf("NAT matrix in virtual time: %d of 36\n", right)

	if right != 36 {
		t.Errorf("got %d pairs as predicted, want 36", right)
	}
}

// TestMatrixOfCombinations tests every mapping with every filtering.
func TestMatrixOfCombinations(t *testing.T) {
	if right := matrix(t, newVirtualWorld(t), combinations(), time.Second); right != 81 {
		t.Errorf("got %d pairs as predicted, want 81", right)
	}
}

// TestMatrixOverSwitches tests the same hosts and routers on switches.
func TestMatrixOverSwitches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		right := matrix(t, newSwitchWorld(t), kinds(), time.Second)
		fmt.Printf("NAT matrix over switches: %d of 36\n", right)

		if right != 36 {
			t.Errorf("got %d pairs as predicted, want 36", right)
		}
	})
}

// TestPrediction compares the prediction with the well-known table (RFC 5128, section 3.3): of the pairs without
// blocked UDP, only those of a symmetric NAT with one that filters by port fail.
func TestPrediction(t *testing.T) {
	fails := map[string]bool{"symmetric symmetric": true, "symmetric port-restricted": true, "port-restricted symmetric": true}

	for _, a := range kinds() {
		for _, b := range kinds() {
			want := !a.blocked && !b.blocked && !fails[a.name+" "+b.name]
			if got := predicted(a, b); got != want {
				t.Errorf("%s with %s: got %v, want %v", a.name, b.name, got, want)
			}
		}
	}
}
