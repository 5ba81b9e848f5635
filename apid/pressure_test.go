// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// callerSet are callers of one listener, each with a load that the test sets, by name and in MiB. The memory in use is the sum of the
// loads of callers that are still connected.
type callerSet struct {
	*listener

	t       *testing.T
	callers map[string]*caller
}

type caller struct {
	*connection

	end   func()
	holds int64
}

// callerConn is the connection of a caller.
type callerConn struct {
	net.Conn

	closed bool
}

func (c *callerConn) Close() error         { c.closed = true; return nil }
func (c *callerConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }
func (c *caller) cutOff() bool             { return c.Conn.(*callerConn).closed } // as made

func newCrowd(t *testing.T) *callerSet {
	t.Helper()

	p := &callerSet{t: t, listener: newListener(nil, newPressure(slog.New(slog.DiscardHandler))), callers: map[string]*caller{}}
	before := heapBytes
	heapBytes = p.heap

	t.Cleanup(func() { heapBytes = before })

	return p
}

func (p *callerSet) heap() (bytes uint64) {
	for _, c := range p.callers {
		bytes += uint64(c.holds) // not negative
	}

	return bytes
}

// takes adds MiB to the load of a caller, with a first call if it has none.
func (p *callerSet) takes(name string, mib int64) {
	p.t.Helper()

	c := p.callers[name]
	if c == nil {
		c = &caller{connection: &connection{Conn: &callerConn{}, listener: p.listener}}
		p.callers[name] = c
		c.end = c.begin()
	}

	c.holds += mib << 20
	c.load.in.Add(mib << 20)
	p.pressure.grow(int(mib) << 20)
}

// out returns the callers that were shed.
func (p *callerSet) out(when string, want ...string) {
	p.t.Helper()

	var got []string

	for name, c := range p.callers {
		if c.cutOff() {
			got = append(got, name)
		}
	}

	slices.Sort(got)

	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Fatalf("%s: shed (-want +got):\n%s", when, diff)
	}
}

// TestMostIsShedFirst has two callers with a large load and one with a small load.
func TestMostIsShedFirst(t *testing.T) {
	p := newCrowd(t)

	p.takes("light", 1)
	p.takes("heavy", 20)
	p.takes("heavier", 40)
	p.out("with enough memory")

	p.takes("heavy", 4)
	p.out("without", "heavier")

	// A connection that is being closed does not cause another to be shed.
	p.takes("heavy", 10)
	p.takes("light", 1)
	p.out("while it goes", "heavier")

	p.callers["heavier"].end()
	p.takes("light", 1)
	p.out("when its calls have ended and it is not closed", "heavier")

	p.callers["heavier"].Close() // as gRPC does
	p.callers["heavier"].holds = 0
	p.takes("heavy", 20)
	p.out("when it is gone and the other fits in", "heavier")

	p.takes("heavy", 20)
	p.out("when it does not", "heavier", "heavy")

	if got := len(p.pressure.calling); got != 2 {
		t.Errorf("got %d connections with calls, want only open ones", got)
	}
}

// TestAsManyAreShedAsNeeded: memory becomes short at once.
func TestAsManyAreShedAsNeeded(t *testing.T) {
	p := newCrowd(t)

	for name, mib := range map[string]int64{"a": 40, "b": 30, "c": 25, "d": 25, "e": 1} {
		p.takes(name, 0)
		p.callers[name].holds = mib << 20
		p.callers[name].load.in.Store(mib << 20)
	}

	p.out("before a check")
	p.pressure.grow(pressureStep)
	p.out("after one look", "a", "b")
}

// TestSmallOnesStay: memory is short, but no caller has a large load.
func TestSmallOnesStay(t *testing.T) {
	p := newCrowd(t)

	p.takes("a", 1)
	p.callers["a"].load.in.Store(0)
	p.callers["a"].holds = 2 * pressureBytes
	p.takes("b", 0)
	p.pressure.grow(pressureStep)
	p.out("no large load")
}

// TestLoad: the overhead of HTTP/2 neither accumulates over many calls nor hides a connection's load.
func TestLoad(t *testing.T) {
	const message = 1000

	for _, tt := range []struct {
		name string
		more int64 // bytes of a call that are read before its messages, and overhead of an answer
	}{
		{"headers", headerBytes / 2}, {"a message that is there before its call begins", -message},
	} {
		var l load

		l.begin() // a call that continues
		l.in.Store(0)

		for range 10_000 {
			l.in.Add(message + tt.more)
			l.begin()
			l.in.Add(-message)
			l.out.Add(message)
			l.out.Add(-message - headerBytes)
			l.calls.Add(-1)
		}

		before := l.bytes()

		l.begin()
		l.in.Add(10 << 20)
		l.out.Add(5 << 20)

		if got := l.bytes() - before - callBytes; before > callBytes+2*message || got < 15<<20-2*message || got > 15<<20 {
			t.Errorf("%s: got %d bytes before and %d more, want about none and 15 MiB", tt.name, before, got)
		}
	}
}

// TestGrowthWaitsForTheLook: other callers send more during a check.
func TestGrowthWaitsForTheLook(t *testing.T) {
	p := newPressure(slog.New(slog.DiscardHandler))
	looking, decided := make(chan struct{}), make(chan struct{})
	looks := 0
	before := heapBytes

	heapBytes = func() uint64 {
		if looks++; looks == 1 {
			close(looking)
			<-decided
		}

		return 0
	}

	defer func() { heapBytes = before }()

	var wait sync.WaitGroup

	wait.Go(func() { p.grow(pressureStep) })
	<-looking

	// Less than a step passes.
	p.grow(pressureStep - 1)

	through := make(chan struct{}, 8)

	for range cap(through) {
		wait.Go(func() {
			p.grow(1)
			through <- struct{}{}
		})
	}

	select {
	case <-through:
		t.Error("more than a step was received during the check")
	case <-time.After(50 * time.Millisecond):
	}

	close(decided)
	wait.Wait()

	if looks != 2 {
		t.Errorf("got %d checks, want one for all that waited", looks)
	}
}
