// SPDX-License-Identifier: Apache-2.0

package netswitch

import "sync/atomic"

// Port is a port of the switch.
type Port struct {
	name    string
	sw      *Switch
	out     *queue
	delayed *delayLine
	count   counters
}

type counters struct {
	sent, sentBytes, received, receivedBytes, dropped, lost, cut, blocked, duplicated, corrupted atomic.Uint64
}

// add counts a frame for the port, and reports whether it is forwarded.
func (c *counters) add(f fate) bool {
	switch f.verdict {
	case lost:
		c.lost.Add(1)
	case cut:
		c.cut.Add(1)
	case blocked:
		c.blocked.Add(1)
	case congested:
		c.dropped.Add(1)
	}

	if f.verdict != pass {
		return false
	}

	c.duplicated.Add(uint64(f.extra))

	if f.corrupt {
		c.corrupted.Add(1)
	}

	return true
}

// Stats counts a port's frames, seen from the machine behind it.
type Stats struct {
	Sent          uint64 `json:"sent"`
	SentBytes     uint64 `json:"sentBytes"`
	Received      uint64 `json:"received"`
	ReceivedBytes uint64 `json:"receivedBytes"`
	// Dropped frames found the machine's queue, or that of a bandwidth limit, full.
	Dropped uint64 `json:"dropped"`
	// Lost, Cut and Blocked frames to the machine were dropped by a fault. Blocked ones were of a protocol, or too
	// long.
	Lost    uint64 `json:"lost"`
	Cut     uint64 `json:"cut"`
	Blocked uint64 `json:"blocked"`
	// Duplicated frames were sent twice, Corrupted ones with a flipped bit.
	Duplicated uint64 `json:"duplicated"`
	Corrupted  uint64 `json:"corrupted"`
}

// Stats returns the port's counters.
func (p *Port) Stats() Stats {
	return Stats{
		Sent: p.count.sent.Load(), SentBytes: p.count.sentBytes.Load(),
		Received: p.count.received.Load(), ReceivedBytes: p.count.receivedBytes.Load(),
		Dropped: p.count.dropped.Load(), Lost: p.count.lost.Load(), Cut: p.count.cut.Load(),
		Blocked: p.count.blocked.Load(), Duplicated: p.count.duplicated.Load(), Corrupted: p.count.corrupted.Load(),
	}
}

// Send sends a frame from the port's machine into the switch. The frame is copied. A frame too short for an Ethernet
// header or over MaxFrame is not sent.
func (p *Port) Send(frame []byte) {
	if len(frame) < headerLen || len(frame) > MaxFrame {
		return
	}

	f := newFrame(len(frame))
	copy(f.Bytes(), frame)
	p.send(f)
}

// send takes over the caller's reference.
func (p *Port) send(f *Frame) {
	p.count.sent.Add(1)
	p.count.sentBytes.Add(uint64(len(f.Bytes())))
	p.sw.forward(p, f)
}

// Close unplugs the port.
func (p *Port) Close() {
	p.sw.remove(p)
	p.delayed.close()
	p.out.close()
}

// run passes outgoing frames to deliver until the port is closed or deliver fails.
func (p *Port) run(deliver func([]*Frame) error) error {
	var spare []*Frame

	for {
		frames, ok := p.out.take(spare)
		if !ok {
			return nil
		}

		if captures := p.sw.captures.Load(); captures != nil {
			captures.received(p, frames)
		}

		var bytes uint64
		for _, f := range frames {
			bytes += uint64(len(f.Bytes()))
		}

		err := deliver(frames)
		if err == nil {
			p.count.received.Add(uint64(len(frames)))
			p.count.receivedBytes.Add(bytes)
		}

		releaseAll(frames)
		spare = frames

		if err != nil {
			return err
		}
	}
}
