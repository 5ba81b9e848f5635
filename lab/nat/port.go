// SPDX-License-Identifier: Apache-2.0

package nat

import "time"

// mapNew maps an internal endpoint to a port of the external address. It returns nil if all are taken.
func (t *Table) mapNew(flow flowKey, now time.Time) *mapping {
	port, ok := t.freePort(flow.proto, flow.local.port, now)
	if !ok {
		return nil
	}

	m := &mapping{key: flow, port: port, sessions: map[endpoint]*session{}}
	m.key.remote = t.dependsOn(flow.remote)
	t.inside[m.key], t.ports[portKey{flow.proto, port}] = m, m

	return m
}

// freePort returns a port that no live mapping of the protocol has.
func (t *Table) freePort(proto uint8, internal uint16, now time.Time) (uint16, bool) {
	first, size := int(t.cfg.FirstPort), int(t.cfg.LastPort)-int(t.cfg.FirstPort)+1

	var start int

	switch t.cfg.Allocation {
	case Preserve:
		start = max(int(internal)-first, 0) % size
	case Sequential:
		start = int(t.next) - first
	case Random:
		start = t.rand.IntN(size)
	}

	for i := range size {
		port := uint16(first + (start+i)%size)
		if t.alive(t.ports[portKey{proto, port}], now) == nil {
			t.next = uint16(first + (start+i+1)%size)

			return port, true
		}
	}

	return 0, false
}
