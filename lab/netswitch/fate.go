// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/lab/ip"
)

// verdict is whether a frame arrives.
type verdict int

const (
	pass verdict = iota
	lost
	cut
	blocked
	congested
)

// fate is how a frame is treated on its path to one port. The extra copies are treated alike.
type fate struct {
	verdict verdict
	delay   time.Duration
	extra   int
	corrupt bool
}

// rules are the current faults, with the state of the bandwidth limits.
type rules struct {
	faults  *Faults
	shapers map[stage]*shaper
}

// stage is a part of a frame's path that can have an impairment. The sender's link has no to, the receiver's no from.
type stage struct{ from, to string }

// newRules returns nil for no faults. A bandwidth limit that is the same as in old keeps its state.
func newRules(f *Faults, old *rules) *rules {
	if len(f.Links)+len(f.Paths) == 0 {
		return nil
	}

	r := &rules{faults: f, shapers: map[stage]*shaper{}}

	shape := func(at stage, i Impairment) {
		if i.Bandwidth == 0 {
			return
		}

		if old != nil && old.shapers[at] != nil && old.shapers[at].rate == i.Bandwidth {
			r.shapers[at] = old.shapers[at]
		} else {
			r.shapers[at] = &shaper{rate: i.Bandwidth}
		}
	}

	for name, link := range f.Links {
		shape(stage{from: name}, link.Out)
		shape(stage{to: name}, link.In)
	}

	for path, i := range f.Paths {
		shape(stage{path.From, path.To}, i)
	}

	return r
}

func (r *rules) current() *Faults {
	if r == nil {
		return nil
	}

	return r.faults
}

// leave returns the part of a frame's fate that is decided on the sender's link, for all receivers. Chance returns
// random numbers from 0 up to 1.
func (r *rules) leave(from string, f *Frame, chance func() float64) fate {
	var fate fate

	r.meet(&fate, stage{from: from}, r.faults.Links[from].Out, f, chance)

	return fate
}

// arrive adds the impairments of the path and of the receiver's link.
func (r *rules) arrive(fate *fate, from, to string, f *Frame, chance func() float64) {
	r.meet(fate, stage{from, to}, r.faults.Paths[Path{from, to}], f, chance)
	r.meet(fate, stage{to: to}, r.faults.Links[to].In, f, chance)
}

// meet adds one impairment.
func (r *rules) meet(fate *fate, at stage, i Impairment, f *Frame, chance func() float64) {
	if fate.verdict != pass || i == (Impairment{}) {
		return
	}

	switch {
	case i.Cut:
		fate.verdict = cut
	case i.DropOver > 0 && len(f.Bytes()) > i.DropOver, i.Block == UDP && isUDP(f.Bytes()):
		fate.verdict = blocked
	case i.Loss > 0 && chance() < i.Loss:
		fate.verdict = lost
	}

	if fate.verdict != pass {
		return
	}

	if i.Duplicate > 0 && chance() < i.Duplicate {
		fate.extra++
	}

	if i.Corrupt > 0 && chance() < i.Corrupt {
		fate.corrupt = true
	}

	if s := r.shapers[at]; s != nil {
		wait, ok := s.take(len(f.Bytes())*(1+fate.extra), time.Now().Add(fate.delay))
		if !ok {
			fate.verdict = congested

			return
		}

		// Not zero: a frame must not overtake one in the delay line.
		fate.delay += max(wait, 1)
	}

	fate.delay += i.Delay
	if i.Jitter > 0 {
		fate.delay = max(0, fate.delay+time.Duration((2*chance()-1)*float64(i.Jitter)))
	}
}

// isUDP reports whether a frame carries UDP, with or without VLAN tags.
func isUDP(frame []byte) bool {
	const ipv4, ipv6, vlan, serviceVLAN = 0x0800, 0x86dd, 0x8100, 0x88a8

	kind := frame[headerLen-2:]
	for len(kind) >= 6 && slices.Contains([]uint16{vlan, serviceVLAN}, binary.BigEndian.Uint16(kind)) {
		kind = kind[4:]
	}

	switch binary.BigEndian.Uint16(kind) {
	case ipv4, ipv6:
		return ip.IsUDP(kind[2:])
	}

	return false
}
