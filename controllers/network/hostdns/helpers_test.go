// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// world has upstreams in memory: each has records, or fails.
type world struct {
	mu      sync.Mutex
	records map[string][]string      // records, by the upstream's address
	rcode   map[string]int           // what an upstream answers instead
	slow    map[string]time.Duration // how long it takes
	dead    map[string]bool          // it never answers
	asked   []string                 // the upstreams, in the order in which they were asked
}

func newWorld() *world {
	return &world{records: map[string][]string{}, rcode: map[string]int{}, slow: map[string]time.Duration{}, dead: map[string]bool{}}
}

// resolver returns a resolver that asks upstreams by their addresses.
func (w *world) resolver(names Names, upstreams ...string) *Resolver {
	r := &Resolver{Exchange: w.exchange}
	r.Set(names, w.upstreams(upstreams...))

	return r
}

func (*world) upstreams(addresses ...string) []Upstream {
	var out []Upstream
	for _, a := range addresses {
		out = append(out, Upstream{Addr: netip.AddrPortFrom(netip.MustParseAddr(a), 53)})
	}

	return out
}

func (w *world) exchange(ctx context.Context, to Upstream, query *dns.Msg) (*dns.Msg, error) {
	at := to.Addr.Addr().String()

	w.mu.Lock()
	w.asked = append(w.asked, at)
	records, rcode, slow, dead := w.records[at], w.rcode[at], w.slow[at], w.dead[at]
	w.mu.Unlock()

	if dead {
		<-ctx.Done()

		return nil, ctx.Err()
	}

	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	if rcode == -1 {
		return nil, errors.New("connection refused")
	}

	return answerFrom(query, records, rcode), nil
}

// answerFrom answers a query from records in the form of a zone file; those of type SOA are the authority's.
func answerFrom(query *dns.Msg, records []string, rcode int) *dns.Msg {
	m := new(dns.Msg).SetReply(query)
	m.Rcode, m.RecursionAvailable = rcode, true

	if rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError {
		return m
	}

	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			panic(err)
		}

		switch h := rr.Header(); {
		case h.Rrtype == dns.TypeSOA:
			m.Ns = append(m.Ns, rr)
		case strings.EqualFold(h.Name, query.Question[0].Name) && h.Rrtype == query.Question[0].Qtype:
			m.Answer = append(m.Answer, rr)
		}
	}

	return m
}

// take returns the upstreams that were asked, and forgets them.
func (w *world) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	out := strings.Join(w.asked, " ")
	w.asked = nil

	return out
}

// lookup asks a resolver over UDP and returns the reply.
func lookup(t *testing.T, r *Resolver, name string, qtype uint16, change ...func(*dns.Msg)) *dns.Msg {
	t.Helper()

	query := new(dns.Msg).SetQuestion(name, qtype)
	for _, c := range change {
		c(query)
	}

	wire, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}

	reply := new(dns.Msg)
	if err := reply.Unpack(r.Answer(t.Context(), wire, true)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}

	if reply.Id != query.Id || !reply.Response {
		t.Errorf("%s: the reply has id %d, want %d", name, reply.Id, query.Id)
	}

	return reply
}

// text returns the code and the records of a reply: "NOERROR 192.0.2.1/60".
func text(m *dns.Msg) string {
	out := dns.RcodeToString[m.Rcode]

	for _, rr := range m.Answer {
		fields := strings.Fields(rr.String())
		out += " " + strings.Join(fields[4:], " ") + "/" + fields[1]
	}

	return out
}
