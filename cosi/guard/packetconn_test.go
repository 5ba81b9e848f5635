// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"net"
	"testing"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// TestPacketConn: packets that make the parser or the read panic are dropped.
func TestPacketConn(t *testing.T) {
	conn := guard.PacketConn(&packets{queue: []string{"bad", "good", "unreadable", "", "last"}}, func(packet []byte) {
		if packet[0] == 'b' {
			panic("a fault of the parser")
		}
	})

	for _, want := range []string{"good", "last"} {
		b := make([]byte, 16)
		if n, _, err := conn.ReadFrom(b); err != nil || string(b[:n]) != want {
			t.Errorf("got %q, %v, want %q", b[:n], err, want)
		}
	}

	if _, _, err := conn.ReadFrom(make([]byte, 16)); err != net.ErrClosed {
		t.Errorf("at the end: got %v, want %v", err, net.ErrClosed)
	}
}

type packets struct {
	net.PacketConn

	queue []string
}

func (p *packets) ReadFrom(b []byte) (int, net.Addr, error) {
	if len(p.queue) == 0 {
		return 0, nil, net.ErrClosed
	}

	next := p.queue[0]
	p.queue = p.queue[1:]

	if next == "unreadable" {
		panic("a fault of the connection")
	}

	return copy(b, next), nil, nil
}
