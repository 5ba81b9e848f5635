// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// Names are the addresses of names that the machine itself knows.
type Names map[string][]netip.Addr

// Add adds addresses of a name.
func (n Names) Add(name string, addresses ...netip.Addr) {
	if name == "" {
		return
	}

	name = dns.CanonicalName(name)

	for _, a := range addresses {
		if a = a.Unmap(); a.IsValid() && !slices.Contains(n[name], a) {
			n[name] = append(n[name], a)
		}
	}
}

// answer returns the answer about a known name, or nil. Other servers may know more about the name than its addresses, and are asked for
// that. But if a known name has only addresses of one family, there are none of the other.
func (n Names) answer(q dns.Question) *dns.Msg {
	if q.Qclass != dns.ClassINET || q.Qtype != dns.TypeA && q.Qtype != dns.TypeAAAA && q.Qtype != dns.TypeHTTPS && q.Qtype != dns.TypeSVCB {
		return nil
	}

	addresses, known := n.lookup(dns.CanonicalName(q.Name))
	if !known {
		return nil
	}

	out := &dns.Msg{}
	header := dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: ownTTL}

	for _, a := range addresses {
		switch {
		case a.Is4() && q.Qtype == dns.TypeA:
			out.Answer = append(out.Answer, &dns.A{Hdr: header, A: a.AsSlice()})
		case a.Is6() && q.Qtype == dns.TypeAAAA:
			out.Answer = append(out.Answer, &dns.AAAA{Hdr: header, AAAA: a.AsSlice()})
		}
	}

	return out
}

// lookup returns the addresses of a name. localhost never leaves the machine (RFC 6761, 6.3).
func (n Names) lookup(name string) ([]netip.Addr, bool) {
	if name == "localhost." || strings.HasSuffix(name, ".localhost.") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, true
	}

	addresses, known := n[name]

	return addresses, known
}

// AddMissing adds the names of another set that are not known yet.
func (n Names) AddMissing(other Names) {
	for name, addresses := range other {
		if _, known := n[name]; !known {
			n[name] = addresses
		}
	}
}
