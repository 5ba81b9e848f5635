// SPDX-License-Identifier: Apache-2.0

package nat

import "time"

const (
	// fragmentTimeout is how long later fragments may come after the first one.
	fragmentTimeout = 30 * time.Second
	// fragmentLimit bounds the packets whose later fragments are waited for.
	fragmentLimit = 1024
)

// partKey is what the fragments of a packet have in common (RFC 791).
type partKey struct {
	direction Direction
	proto     uint8
	src, dst  [4]byte
	id        uint16
}

// translation is the address that the fragments of a packet get.
type translation struct {
	to      endpoint
	expires time.Time
}

func (p *packet) partKey(d Direction) partKey {
	return partKey{d, p.proto, p.src.addr, p.dst.addr, p.ip.ID()}
}

// remember has the fragments after a first one get the same address.
func (t *Table) remember(p *packet, d Direction, to endpoint, now time.Time) {
	if !p.more {
		return
	}

	if len(t.parts) >= fragmentLimit {
		t.sweep(now)
	}

	if len(t.parts) < fragmentLimit {
		t.parts[p.partKey(d)] = translation{to, now.Add(fragmentTimeout)}
	}
}

// follow translates a later fragment as its first one was.
func (t *Table) follow(p *packet, d Direction, now time.Time) Verdict {
	part, known := t.parts[p.partKey(d)]
	if !known || !now.Before(part.expires) {
		return FragmentAlone
	}

	if d == Outbound {
		p.setSource(part.to)
	} else {
		p.setDestination(part.to)
	}

	return Pass
}
