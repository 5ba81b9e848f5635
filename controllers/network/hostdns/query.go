// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"encoding/binary"

	"github.com/miekg/dns"
)

// query is a query of a client.
type query struct {
	*dns.Msg

	udp bool
	opt *dns.OPT // nil without EDNS
}

// headerSize is the size of the header of a message.
const headerSize = 12

// parse reads a query. A message that gets no reply is nil; one that cannot be answered has the code of its error.
func parse(wire []byte, udp bool) (q *query, rcode int) {
	if len(wire) < headerSize || wire[2]&0x80 != 0 { // to answer an answer may never end
		return nil, 0
	}

	q = &query{Msg: &dns.Msg{}, udp: udp}

	if err := q.Unpack(wire); err != nil || q.Truncated {
		q.Msg = &dns.Msg{MsgHdr: dns.MsgHdr{Id: binary.BigEndian.Uint16(wire), Opcode: int(wire[2]>>3) & 0xf}}

		return q, dns.RcodeFormatError
	}

	q.opt = q.IsEdns0()

	switch {
	case q.Opcode != dns.OpcodeQuery:
		return q, dns.RcodeNotImplemented
	case len(q.Question) != 1:
		return q, dns.RcodeFormatError
	case q.opt != nil && q.opt.Version() != 0:
		return q, dns.RcodeBadVers
	case q.Question[0].Qclass != dns.ClassINET, q.Question[0].Qtype == dns.TypeAXFR, q.Question[0].Qtype == dns.TypeIXFR:
		return q, dns.RcodeRefused
	}

	return q, dns.RcodeSuccess
}

// key returns what the answer depends on.
func (q *query) key() key {
	question := q.Question[0]

	return key{
		name: dns.CanonicalName(question.Name), qtype: question.Qtype, qclass: question.Qclass,
		dnssec: q.opt != nil && q.opt.Do(), unchecked: q.CheckingDisabled,
	}
}

// question returns the query for upstreams. It has nothing of the client but the question.
func (q *query) question() *dns.Msg {
	k := q.key()
	m := &dns.Msg{Question: []dns.Question{{Name: k.name, Qtype: k.qtype, Qclass: k.qclass}}}
	m.RecursionDesired, m.CheckingDisabled = true, k.unchecked

	// The flag asks whether the data is authentic (RFC 6840, 5.7).
	m.AuthenticatedData = q.AuthenticatedData

	return m.SetEdns0(maxDatagram, k.dnssec)
}

// reply returns the reply with an answer, which may be nil and is not changed, or with an error.
func (q *query) reply(answer *dns.Msg, rcode int, reason string) []byte {
	m := &dns.Msg{}
	m.Id, m.Opcode, m.Response, m.RecursionAvailable = q.Id, q.Opcode, true, true
	m.RecursionDesired, m.CheckingDisabled = q.RecursionDesired, q.CheckingDisabled
	m.Rcode, m.Compress = rcode, true

	if len(q.Question) == 1 {
		m.Question = q.Question
	}

	if answer != nil {
		m.Rcode = answer.Rcode
		m.Answer, m.Ns, m.Extra = answer.Answer, answer.Ns, withoutOPT(answer.Extra)
		m.AuthenticatedData = answer.AuthenticatedData && (q.AuthenticatedData || q.opt != nil && q.opt.Do())
	}

	size := maxMessage
	if q.udp {
		size = dns.MinMsgSize
	}

	if q.opt != nil {
		m.SetEdns0(maxDatagram, q.opt.Do())

		if reason != "" { // for dig and its like (RFC 8914)
			opt := m.IsEdns0()
			opt.Option = append(opt.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeNetworkError, ExtraText: reason})
		}

		if q.udp {
			size = min(max(int(q.opt.UDPSize()), size), maxDatagram)
		}
	}

	m.Truncate(size)

	if wire, err := m.Pack(); err == nil && len(wire) <= size {
		return wire
	}

	m.Rcode, m.Answer, m.Ns, m.Extra = dns.RcodeServerFailure, nil, nil, nil

	wire, err := m.Pack()
	if err != nil {
		return nil // the name of the question was unpacked, and so can be packed
	}

	return wire
}
