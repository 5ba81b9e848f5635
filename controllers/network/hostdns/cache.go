// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"container/list"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// key is what an answer depends on.
type key struct {
	name          string // dns.CanonicalName
	qtype, qclass uint16
	// dnssec is whether signatures are wanted, and unchecked whether the upstream is not to check them.
	dnssec, unchecked bool
}

// cache keeps answers until they expire, and longer if there is room. It removes those first that were not used for the longest time.
type cache struct {
	limit int // in bytes

	mu      sync.Mutex
	entries map[key]*list.Element
	used    *list.List // of *entry; the last used one is the first
	size    int
}

// entry is a kept answer. As bytes it has a known size, and no caller can change it.
type entry struct {
	key
	wire            []byte
	stored, expires time.Time
}

// overhead is about what an entry takes beside its message and its name.
const overhead = 256

func (e *entry) size() int { return len(e.wire) + len(e.name) + overhead }

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[key]*list.Element{}, used: list.New()}
}

// get returns a kept answer with the time that is left to it, and whether that is over.
func (c *cache) get(k key, now time.Time) (answer *dns.Msg, stale bool) {
	c.mu.Lock()

	element, ok := c.entries[k]
	if !ok {
		c.mu.Unlock()

		return nil, false
	}

	c.used.MoveToFront(element)

	e := *element.Value.(*entry)

	c.mu.Unlock()

	stale = !now.Before(e.expires)
	if stale && now.Sub(e.expires) > maxStale {
		return nil, false
	}

	answer = &dns.Msg{}
	if err := answer.Unpack(e.wire); err != nil {
		return nil, false // it was packed from a message
	}

	age := uint32(now.Sub(e.stored) / time.Second)

	for _, h := range headers(answer) {
		switch {
		case stale:
			h.Ttl = staleTTL
		default:
			h.Ttl -= min(age, h.Ttl)
		}
	}

	return answer, stale
}

// put keeps an answer if it may be kept.
func (c *cache) put(k key, answer *dns.Msg, now time.Time) {
	ttl := lifetime(answer)
	if ttl <= 0 {
		return
	}

	kept := *answer
	kept.Compress = true
	kept.Extra = withoutOPT(answer.Extra)

	wire, err := kept.Pack()
	if err != nil {
		return
	}

	e := &entry{key: k, wire: wire, stored: now, expires: now.Add(ttl)}

	c.mu.Lock()
	defer c.mu.Unlock()

	if old, ok := c.entries[k]; ok {
		c.remove(old)
	}

	c.entries[k] = c.used.PushFront(e)
	c.size += e.size()

	for c.size > c.limit {
		c.remove(c.used.Back())
	}
}

func (c *cache) remove(element *list.Element) {
	e := c.used.Remove(element).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size()
}

// lifetime returns how long an answer may be kept (RFC 2308, 5); 0 is not at all.
func lifetime(answer *dns.Msg) time.Duration {
	if answer.Truncated || answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError {
		return 0
	}

	limit := maxTTL

	// Without the records that were asked for, the authority's record says for how long there are none.
	if negative(answer) {
		soa := authority(answer)
		if soa == nil {
			return 0
		}

		limit = min(maxNegativeTTL, time.Duration(soa.Minttl)*time.Second)
	}

	for _, h := range headers(answer) {
		limit = min(limit, time.Duration(h.Ttl)*time.Second)
	}

	return limit
}

// negative reports whether an answer lacks a record of the type that was asked for.
func negative(answer *dns.Msg) bool {
	if answer.Rcode == dns.RcodeNameError {
		return true
	}

	for _, rr := range answer.Answer {
		if asked := answer.Question[0].Qtype; asked == dns.TypeANY || rr.Header().Rrtype == asked {
			return false
		}
	}

	return true
}

func authority(answer *dns.Msg) *dns.SOA {
	for _, rr := range answer.Ns {
		if soa, ok := rr.(*dns.SOA); ok {
			return soa
		}
	}

	return nil
}

// headers returns the headers of all records. That of EDNS is none: its TTL has flags.
func headers(m *dns.Msg) []*dns.RR_Header {
	var out []*dns.RR_Header

	for _, section := range [][]dns.RR{m.Answer, m.Ns, m.Extra} {
		for _, rr := range section {
			if _, edns := rr.(*dns.OPT); !edns {
				out = append(out, rr.Header())
			}
		}
	}

	return out
}

// withoutOPT returns the records without that of EDNS, which is between two machines. It does not change the argument.
func withoutOPT(records []dns.RR) []dns.RR {
	var out []dns.RR

	for _, rr := range records {
		if _, edns := rr.(*dns.OPT); !edns {
			out = append(out, rr)
		}
	}

	return out
}
