// SPDX-License-Identifier: Apache-2.0

package nat

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// tcpState is the part of a connection's state that its timeout depends on: the flags that each side has sent.
type tcpState struct {
	syn, fin [2]bool // by direction
	reset    bool
}

func (s tcpState) closed() bool { return s.reset || s.fin[Outbound] && s.fin[Inbound] }

func (s tcpState) established() bool { return s.syn[Outbound] && s.syn[Inbound] && !s.closed() }

// isOpening reports whether a segment opens a connection.
func isOpening(segment header.TCP) bool {
	return segment.Flags()&(header.TCPFlagSyn|header.TCPFlagAck|header.TCPFlagRst|header.TCPFlagFin) == header.TCPFlagSyn
}

// follow updates the state with a segment.
func (s *tcpState) follow(segment header.TCP, d Direction) {
	flags := segment.Flags()

	// The endpoints of a closed connection may open another one.
	if s.closed() && isOpening(segment) {
		*s = tcpState{}
	}

	s.syn[d] = s.syn[d] || flags.Intersects(header.TCPFlagSyn)
	s.fin[d] = s.fin[d] || flags.Intersects(header.TCPFlagFin)
	s.reset = s.reset || flags.Intersects(header.TCPFlagRst)
}

// refresh updates a session with a packet that passes.
func (t *Table) refresh(s *session, p *packet, d Direction, now time.Time) {
	s.opened = s.opened || d == Outbound

	var timeout time.Duration

	switch p.proto {
	case tcp:
		s.tcp.follow(header.TCP(p.l4), d)

		if timeout = t.cfg.TCPTransitoryTimeout; s.tcp.established() {
			timeout = t.cfg.TCPEstablishedTimeout
		}
	case icmp:
		timeout = t.cfg.ICMPTimeout
	default:
		timeout = t.cfg.UDPTimeout
	}

	// RFC 4787, REQ-6: inbound packets do not refresh a mapping.
	if p.proto == tcp || d == Outbound || t.cfg.RefreshInbound || !s.opened {
		s.expires = now.Add(timeout)
	}
}
