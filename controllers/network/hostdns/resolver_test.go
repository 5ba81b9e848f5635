// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

const (
	soa = "example. 600 IN SOA ns.example. admin.example. 1 7200 900 1209600 60"
	one = "one.example. 300 IN A 192.0.2.1"
)

// TestKnownNames: names of the machine are answered without any other server.
func TestKnownNames(t *testing.T) {
	w := newWorld()
	names := Names{}
	names.Add("Node-1.example.com", netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("::ffff:192.0.2.7"))
	names.Add("four", netip.MustParseAddr("192.0.2.4"))
	names.Add("", netip.MustParseAddr("192.0.2.99"))
	names.AddMissing(Names{"four.": {netip.MustParseAddr("192.0.2.66")}, "new.": {netip.MustParseAddr("192.0.2.5")}})
	r := w.resolver(names)

	for _, tt := range []struct {
		name  string
		qtype uint16
		want  string
	}{
		{"node-1.example.com.", dns.TypeA, "NOERROR 192.0.2.7/10"},
		{"NODE-1.Example.com.", dns.TypeAAAA, "NOERROR 2001:db8::7/10"},
		{"four.", dns.TypeA, "NOERROR 192.0.2.4/10"},
		{"four.", dns.TypeAAAA, "NOERROR"},
		{"four.", dns.TypeHTTPS, "NOERROR"},
		{"new.", dns.TypeA, "NOERROR 192.0.2.5/10"},
		{"localhost.", dns.TypeA, "NOERROR 127.0.0.1/10"},
		{"a.localhost.", dns.TypeAAAA, "NOERROR ::1/10"},
		{"four.", dns.TypeMX, "SERVFAIL"}, // would be asked, but there is no upstream
		{"unknown.", dns.TypeA, "SERVFAIL"},
	} {
		if got := text(lookup(t, r, tt.name, tt.qtype)); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.name, dns.TypeToString[tt.qtype], got, tt.want)
		}
	}

	if asked := w.take(); asked != "" {
		t.Errorf("upstreams were asked: %s", asked)
	}
}

// TestCache: an answer is asked for once, until its time is over; so is the answer that there is none.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records["192.0.2.53"] = []string{soa, one, "zero.example. 0 IN A 192.0.2.9"}
		r := w.resolver(nil, "192.0.2.53")

		want := func(name, answer, asked string) {
			t.Helper()

			if got := text(lookup(t, r, name, dns.TypeA)); got != answer {
				t.Errorf("%s: got %q, want %q", name, got, answer)
			}

			if got := w.take(); got != asked {
				t.Errorf("%s: asked %q, want %q", name, got, asked)
			}
		}

		want("one.example.", "NOERROR 192.0.2.1/300", "192.0.2.53")
		time.Sleep(100 * time.Second)
		want("ONE.example.", "NOERROR 192.0.2.1/200", "")
		time.Sleep(199 * time.Second)
		want("one.example.", "NOERROR 192.0.2.1/1", "")
		time.Sleep(time.Second)
		want("one.example.", "NOERROR 192.0.2.1/300", "192.0.2.53")

		want("none.example.", "NOERROR", "192.0.2.53")
		time.Sleep(59 * time.Second)
		want("none.example.", "NOERROR", "")
		time.Sleep(time.Second)
		want("none.example.", "NOERROR", "192.0.2.53")

		want("zero.example.", "NOERROR 192.0.2.9/0", "192.0.2.53")
		want("zero.example.", "NOERROR 192.0.2.9/0", "192.0.2.53")

		// Other upstreams may have another view, and the same ones have the same.
		r.Set(nil, w.upstreams("192.0.2.53"))
		want("one.example.", "NOERROR 192.0.2.1/240", "")
		r.Set(nil, w.upstreams("192.0.2.54", "192.0.2.53"))
		want("one.example.", "NOERROR", "192.0.2.54")
	})
}

// TestStale: if no upstream answers, an answer is used beyond its time, but not for ever.
func TestStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records["192.0.2.53"] = []string{one}
		r := w.resolver(nil, "192.0.2.53")

		lookup(t, r, "one.example.", dns.TypeA)
		time.Sleep(10 * time.Minute)

		for _, rcode := range []int{-1, dns.RcodeServerFailure} {
			w.rcode["192.0.2.53"] = rcode

			if got, want := text(lookup(t, r, "one.example.", dns.TypeA)), "NOERROR 192.0.2.1/30"; got != want {
				t.Errorf("code %d: got %q, want %q", rcode, got, want)
			}
		}

		time.Sleep(maxStale)

		if got, want := text(lookup(t, r, "one.example.", dns.TypeA)), "SERVFAIL"; got != want {
			t.Errorf("a day later: got %q, want %q", got, want)
		}
	})
}

// TestUpstreams: which upstreams are asked, in which order, and how long that takes.
func TestUpstreams(t *testing.T) {
	const a, b = "192.0.2.1", "192.0.2.2"

	for _, tt := range []struct {
		name    string
		prepare func(w *world)
		asked   string
		then    string // by the next query
		within  time.Duration
		want    string
	}{
		{"the first answers", func(*world) {}, a, a, 0, "NOERROR 192.0.2.1/0"},
		{"the first fails", func(w *world) { w.rcode[a] = -1 }, a + " " + b, b, 0, "NOERROR 192.0.2.1/0"},
		{"the first refuses", func(w *world) { w.rcode[a] = dns.RcodeRefused }, a + " " + b, a + " " + b, 0, "NOERROR 192.0.2.1/0"},
		{"the first is dead", func(w *world) { w.dead[a] = true }, a + " " + b, b, stagger, "NOERROR 192.0.2.1/0"},
		{"the first is slow", func(w *world) { w.slow[a] = 2 * time.Second }, a + " " + b, b, stagger, "NOERROR 192.0.2.1/0"},
		{"both refuse", func(w *world) { w.rcode[a], w.rcode[b] = dns.RcodeRefused, dns.RcodeRefused }, a + " " + b, a + " " + b, 0, "REFUSED"},
		{"there is no such name", func(w *world) { w.rcode[a], w.records[a] = dns.RcodeNameError, nil }, a, a, 0, "NXDOMAIN"},
		{"both fail", func(w *world) { w.rcode[a], w.rcode[b] = -1, -1 }, a + " " + b, a + " " + b, 0, "SERVFAIL"},
		{"both are dead", func(w *world) { w.dead[a], w.dead[b] = true, true }, a + " " + b, a + " " + b, queryTimeout, "SERVFAIL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.records[a], w.records[b] = []string{"x. 0 IN A 192.0.2.1"}, []string{"x. 0 IN A 192.0.2.1"}
				tt.prepare(w)

				r := w.resolver(nil, a, b)
				began := time.Now()
				reply := lookup(t, r, "x.", dns.TypeA, func(m *dns.Msg) { m.SetEdns0(1232, false) })

				if got := text(reply); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}

				if took := time.Since(began); took != tt.within {
					t.Errorf("took %v, want %v", took, tt.within)
				}

				if got := w.take(); got != tt.asked {
					t.Errorf("asked %q, want %q", got, tt.asked)
				}

				if tt.want == "SERVFAIL" && !strings.Contains(reply.String(), "EDE: 23") {
					t.Errorf("the reply does not say why:\n%s", reply)
				}

				lookup(t, r, "x.", dns.TypeA)

				if got := w.take(); got != tt.then {
					t.Errorf("then asked %q, want %q", got, tt.then)
				}

				time.Sleep(avoided)
				w.mu.Lock()
				clear(w.rcode)
				clear(w.dead)
				clear(w.slow)
				w.mu.Unlock()
				lookup(t, r, "x.", dns.TypeA)

				if got := w.take(); got != a {
					t.Errorf("later asked %q, want %q", got, a)
				}
			})
		})
	}
}

// TestDown: while no upstream answers, a query fails soon, and an old answer is used at once; one that answers again is found.
func TestDown(t *testing.T) {
	const at = "192.0.2.53"

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records[at] = []string{one}
		r := w.resolver(nil, at)

		want := func(name, answer string, within time.Duration) {
			t.Helper()

			began := time.Now()

			if got := text(lookup(t, r, name, dns.TypeA)); got != answer || time.Since(began) != within {
				t.Errorf("%s: got %q in %v, want %q in %v", name, got, time.Since(began), answer, within)
			}
		}

		dead := func(is bool) {
			w.mu.Lock()
			w.dead[at] = is
			w.mu.Unlock()
		}

		want("one.example.", "NOERROR 192.0.2.1/300", 0)
		time.Sleep(10 * time.Minute)
		dead(true)
		want("one.example.", "NOERROR 192.0.2.1/30", shortTimeout)
		want("one.example.", "NOERROR 192.0.2.1/30", 0)
		want("x.example.", "SERVFAIL", shortTimeout)
		dead(false)
		want("x.example.", "NOERROR", 0)
		want("one.example.", "NOERROR 192.0.2.1/300", 0)

		dead(true)
		want("y.example.", "SERVFAIL", queryTimeout)
		want("y.example.", "SERVFAIL", shortTimeout)
		time.Sleep(avoided)
		want("y.example.", "SERVFAIL", queryTimeout)

		// A client that is gone says nothing about the upstream.
		dead(false)
		want("y.example.", "NOERROR", 0)
		dead(true)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		wire, _ := new(dns.Msg).SetQuestion("z.example.", dns.TypeA).Pack()
		r.Answer(ctx, wire, true)

		if upstreams := w.upstreams(at); r.health.down(upstreams, time.Now()) {
			t.Error("the upstream counts as failed")
		}
	})
}

// TestOneFlight: many clients with one question are one question to the upstream.
func TestOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.records["192.0.2.53"], w.slow["192.0.2.53"] = []string{one}, 100*time.Millisecond
		r := w.resolver(nil, "192.0.2.53")

		var all sync.WaitGroup

		for range 50 {
			all.Go(func() {
				if got := text(lookup(t, r, "one.example.", dns.TypeA)); got != "NOERROR 192.0.2.1/300" {
					t.Errorf("got %q", got)
				}
			})
		}

		all.Wait()

		if got := w.take(); got != "192.0.2.53" {
			t.Errorf("asked %q", got)
		}
	})
}

// TestQueries: queries that are not simply answered.
func TestQueries(t *testing.T) {
	w := newWorld()
	w.records["192.0.2.53"] = []string{one}
	r := w.resolver(nil, "192.0.2.53")

	for _, tt := range []struct {
		name   string
		change func(*dns.Msg)
		want   int
	}{
		{"usual", func(*dns.Msg) {}, dns.RcodeSuccess},
		{"no question", func(m *dns.Msg) { m.Question = nil }, dns.RcodeFormatError},
		{"two questions", func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, dns.RcodeFormatError},
		{"an update", func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented},
		{"a transfer", func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAXFR }, dns.RcodeRefused},
		{"another class", func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, dns.RcodeRefused},
		{"a later EDNS", func(m *dns.Msg) { m.SetEdns0(1232, false); m.IsEdns0().SetVersion(1) }, dns.RcodeBadVers},
	} {
		if got := lookup(t, r, "one.example.", dns.TypeA, tt.change).Rcode; got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, dns.RcodeToString[got], dns.RcodeToString[tt.want])
		}
	}

	for name, wire := range map[string][]byte{"empty": nil, "short": make([]byte, 11), "an answer": {0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if got := r.Answer(t.Context(), wire, true); got != nil {
			t.Errorf("%s: got the reply %x", name, got)
		}
	}

	var reply dns.Msg
	if err := reply.Unpack(r.Answer(t.Context(), []byte{0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xff}, true)); err != nil || reply.Id != 7 || reply.Rcode != dns.RcodeFormatError {
		t.Errorf("garbage: got %v, %v", &reply, err)
	}
}

// TestLargeAnswers: over UDP an answer has the size that the client takes and the path carries, and says that it is cut.
func TestLargeAnswers(t *testing.T) {
	w := newWorld()

	for i := range 200 {
		w.records["192.0.2.53"] = append(w.records["192.0.2.53"], fmt.Sprintf("big. 60 IN A 192.0.2.%d", i))
	}

	r := w.resolver(nil, "192.0.2.53")

	for _, tt := range []struct {
		edns uint16 // 0 is none
		udp  bool
		max  int
		cut  bool
	}{
		{0, true, 512, true},
		{100, true, 512, true},
		{1000, true, 1000, true},
		{4096, true, maxDatagram, true},
		{0, false, maxMessage, false},
		{1232, false, maxMessage, false},
	} {
		query := new(dns.Msg).SetQuestion("big.", dns.TypeA)
		if tt.edns > 0 {
			query.SetEdns0(tt.edns, false)
		}

		wire, _ := query.Pack()
		wire = r.Answer(t.Context(), wire, tt.udp)

		var reply dns.Msg
		if err := reply.Unpack(wire); err != nil {
			t.Fatal(err)
		}

		if len(wire) > tt.max || reply.Truncated != tt.cut || !tt.cut && len(reply.Answer) != 200 {
			t.Errorf("EDNS %d, UDP %t: got %d bytes with %d records, cut %t; want at most %d, cut %t",
				tt.edns, tt.udp, len(wire), len(reply.Answer), reply.Truncated, tt.max, tt.cut)
		}
	}
}

// TestDNSSEC: signatures are kept apart, and the flag of an upstream reaches only those who ask for it.
func TestDNSSEC(t *testing.T) {
	w := newWorld()
	w.records["192.0.2.53"] = []string{one}
	r := w.resolver(nil, "192.0.2.53")

	plain := w.exchange
	r.Exchange = func(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
		answer, err := plain(ctx, to, query)
		answer.AuthenticatedData = true

		return answer, err
	}

	for i, tt := range []struct {
		change func(*dns.Msg)
		want   bool
	}{
		{func(*dns.Msg) {}, false},
		{func(m *dns.Msg) { m.SetEdns0(1232, true) }, true},
		{func(m *dns.Msg) { m.AuthenticatedData = true }, true},
	} {
		if got := lookup(t, r, "one.example.", dns.TypeA, tt.change).AuthenticatedData; got != tt.want {
			t.Errorf("query %d: got %t, want %t", i, got, tt.want)
		}
	}

	if got := w.take(); got != "192.0.2.53 192.0.2.53" {
		t.Errorf("asked %q, want two questions: with signatures and without", got)
	}
}
