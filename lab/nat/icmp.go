// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// embedded returns the packet inside an ICMP error. An invalid error is dropped (RFC 5508, REQ-3).
func embedded(p *packet) (packet, bool) {
	if p.more || checksum.Checksum(p.l4, 0) != 0xffff {
		return packet{}, false
	}

	return parseEmbedded(p.l4[header.ICMPv4MinimumSize:])
}

// inboundError translates an error about a packet that was sent from inside. Any router on the path may send one, so
// the filter does not apply.
func (t *Table) inboundError(p *packet, now time.Time) Verdict {
	e, ok := embedded(p)
	if !ok {
		return Malformed
	}

	m := t.alive(t.ports[portKey{e.proto, e.src.port}], now)
	if m == nil || e.src.addr != t.external {
		return NoMapping
	}

	e.setSource(m.key.local)
	sumICMP(p.l4)
	p.setDestination(endpoint{addr: m.key.local.addr})

	return Pass
}

// outboundError translates an error about a packet that was accepted from outside. Its source is hidden, also if it is
// a router on the inside.
func (t *Table) outboundError(p *packet, now time.Time) Verdict {
	e, ok := embedded(p)
	if !ok {
		return Malformed
	}

	m := t.mappingOf(flowKey{e.proto, e.dst, e.remote(Inbound)}, now)
	if m == nil {
		return NoMapping
	}

	e.setDestination(endpoint{t.external, m.port})
	sumICMP(p.l4)
	p.setSource(endpoint{addr: t.external})

	return Pass
}
