// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"net/netip"
	"testing"

	"github.com/miekg/dns"
)

// FuzzAnswer: whatever a client asks and whatever an upstream answers, the reply is one to the query and fits.
func FuzzAnswer(f *testing.F) {
	query, _ := new(dns.Msg).SetQuestion("one.example.", dns.TypeA).SetEdns0(1232, true).Pack()
	asked := new(dns.Msg).SetQuestion("one.example.", dns.TypeA)
	answer, _ := answerFrom(asked, []string{one}, 0).Pack()
	negative, _ := answerFrom(asked, []string{soa}, dns.RcodeNameError).Pack()

	f.Add(query, answer, true)
	f.Add(query, negative, false)
	f.Add(query[:20], answer[:30], true)

	names := Names{}
	names.Add("own", netip.MustParseAddr("192.0.2.1"))

	f.Fuzz(func(t *testing.T, wire, fromUpstream []byte, udp bool) {
		r := &Resolver{Exchange: func(_ context.Context, _ Upstream, q *dns.Msg) (*dns.Msg, error) {
			m := &dns.Msg{}
			if err := m.Unpack(fromUpstream); err != nil {
				return nil, err
			}

			m.Id = q.Id // which an attacker may guess

			return m, belongs(q, m)
		}}
		r.Set(names, []Upstream{{Addr: netip.MustParseAddrPort("192.0.2.53:53")}})

		for range 2 { // the second comes from the cache
			reply := r.Answer(t.Context(), wire, udp)
			if reply == nil {
				continue
			}

			limit := maxMessage
			if udp {
				limit = maxDatagram
			}

			var m dns.Msg
			if err := m.Unpack(reply); err != nil || len(reply) > limit || !m.Response || reply[0] != wire[0] || reply[1] != wire[1] {
				t.Errorf("query %x, upstream %x: got %d bytes, %v, %v", wire, fromUpstream, len(reply), &m, err)
			}
		}
	})
}
