// SPDX-License-Identifier: Apache-2.0

package nat

import "time"

const (
	// fragmentTimeout is how long after the first fragment later ones are accepted.
	fragmentTimeout = 30 * time.Second
	// fragmentLimit bounds the packets whose later fragments are expected.
	fragmentLimit = 1024
)

// partKey identifies the packet of a fragment (RFC 791).
type partKey struct {
	direction Direction
	proto     uint8
	src, dst  [4]byte
	id        uint16
}

// translation is the new address of a packet's fragments.
type translation struct {
	to      endpoint
	expires time.Time
}

func (p *packet) partKey(d Direction) partKey {
	return partKey{d, p.proto, p.src.addr, p.dst.addr, p.ip.ID()}
}

// remember stores the address for the fragments after a first one.
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

// follow translates a later fragment like its first one.
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
