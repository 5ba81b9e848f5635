// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// addressLimit bounds the learned addresses, so that a guest that sends from many addresses cannot fill the memory.
// Frames for others are flooded.
const addressLimit = 4096

// Switch forwards Ethernet frames between ports.
type Switch struct {
	table  atomic.Pointer[table]
	faults atomic.Pointer[rules] // nil while no fault is set

	captures atomic.Pointer[captures] // nil while there is none

	mu     sync.Mutex // held to change table, faults or captures
	chance *rand.Rand // guarded by chanceMu
	// chanceMu is its own lock, since frames are judged without mu.
	chanceMu sync.Mutex
}

// table is an immutable snapshot of ports and addresses.
type table struct {
	ports   []*Port
	learned map[address]*Port
}

// New returns a switch with no ports. With the same seed, the same frames are lost.
func New(seed uint64) *Switch {
	s := &Switch{chance: rand.New(rand.NewPCG(seed, 0))}
	s.table.Store(&table{})

	return s
}

// Attach opens a port with a name. One goroutine passes outgoing frames to receive until the port is closed. The bytes
// belong to the switch and are valid only during the call.
func (s *Switch) Attach(name string, receive func(frame []byte)) *Port {
	p := s.plug(name)

	go func() {
		_ = p.run(func(frames []*Frame) error { // receive cannot fail
			for _, f := range frames {
				receive(f.Bytes())
			}

			return nil
		})
	}()

	return p
}

func (s *Switch) plug(name string) *Port {
	q := newQueue()
	p := &Port{name: name, sw: s, out: q}
	p.delayed = newDelayLine(q, &p.count.dropped)

	s.mu.Lock()
	defer s.mu.Unlock()

	old := s.table.Load()
	s.table.Store(&table{ports: append(slices.Clone(old.ports), p), learned: old.learned})

	return p
}

func (s *Switch) remove(p *Port) {
	s.mu.Lock()
	defer s.mu.Unlock()

	old := s.table.Load()
	next := &table{learned: maps.Clone(old.learned)}
	next.ports = slices.DeleteFunc(slices.Clone(old.ports), func(q *Port) bool { return q == p })
	maps.DeleteFunc(next.learned, func(_ address, q *Port) bool { return q == p })
	s.table.Store(next)
}

// forward takes over the caller's reference to the frame.
func (s *Switch) forward(in *Port, f *Frame) {
	defer f.release()

	from, to := f.source(), f.destination()
	if from.group() { // an invalid frame: no machine has such an address
		return
	}

	if captures := s.captures.Load(); captures != nil {
		captures.sent(in, f)
	}

	t := s.table.Load()
	if t.learned[from] != in {
		s.learn(from, in)
	}

	faults := s.faults.Load()

	var fate fate
	if faults != nil {
		fate = faults.leave(in.name, f, s.draw)
	}

	if out := t.learned[to]; out != nil && !to.group() {
		if out != in {
			s.pass(in, out, f, faults, fate)
		}

		return
	}

	for _, out := range t.ports {
		if out != in {
			s.pass(in, out, f, faults, fate)
		}
	}
}

func (s *Switch) learn(a address, p *Port) {
	s.mu.Lock()
	defer s.mu.Unlock()

	old := s.table.Load()
	if _, known := old.learned[a]; !known && len(old.learned) >= addressLimit || !slices.Contains(old.ports, p) {
		return
	}

	next := &table{ports: old.ports, learned: maps.Clone(old.learned)}
	if next.learned == nil {
		next.learned = map[address]*Port{}
	}

	next.learned[a] = p
	s.table.Store(next)
}

// pass sends a frame to an output port through the faults between the ports. Fate is that of its sender's link.
func (s *Switch) pass(in, out *Port, f *Frame, faults *rules, fate fate) {
	if faults != nil {
		faults.arrive(&fate, in.name, out.name, f, s.draw)
	}

	if !out.count.add(fate) {
		return
	}

	if fate.corrupt {
		f = s.damaged(f)
		defer f.release()
	}

	for range 1 + fate.extra {
		f.retain()

		var ok bool
		if fate.delay > 0 {
			ok = out.delayed.push(f, fate.delay)
		} else {
			ok = out.out.push(f)
		}

		if !ok {
			out.count.dropped.Add(1)
		}
	}
}

// damaged returns a copy of a frame with one bit flipped.
func (s *Switch) damaged(f *Frame) *Frame {
	c := newFrame(len(f.Bytes()))
	b := c.Bytes()
	copy(b, f.Bytes())

	if bits := 8 * (len(b) - headerLen); bits > 0 {
		bit := int(s.draw() * float64(bits))
		b[headerLen+bit/8] ^= 1 << (bit % 8)
	}

	return c
}

func (s *Switch) draw() float64 {
	s.chanceMu.Lock()
	defer s.chanceMu.Unlock()

	return s.chance.Float64()
}

// SetLink sets the faults of a port's link. The zero Link removes them.
func (s *Switch) SetLink(name string, link Link) {
	s.change(func(f *Faults) {
		if f.Links[name] = link; link == (Link{}) {
			delete(f.Links, name)
		}
	})
}

// SetPath sets the fault of a one-way path between two ports. The zero Impairment removes it.
func (s *Switch) SetPath(path Path, i Impairment) {
	s.change(func(f *Faults) {
		if f.Paths[path] = i; i == (Impairment{}) {
			delete(f.Paths, path)
		}
	})
}

// Heal removes all faults.
func (s *Switch) Heal() {
	s.change(func(f *Faults) { *f = Faults{} })
}

// Faults returns a copy of the current faults.
func (s *Switch) Faults() *Faults { return s.faults.Load().current().clone() }

func (s *Switch) change(edit func(*Faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()

	old := s.faults.Load()

	next := old.current().clone()
	edit(next)
	s.faults.Store(newRules(next, old))
}

// Stats returns the counters of the current ports, by name.
func (s *Switch) Stats() map[string]Stats {
	stats := map[string]Stats{}
	for _, p := range s.table.Load().ports {
		stats[p.name] = p.Stats()
	}

	return stats
}
