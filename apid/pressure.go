// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"log/slog"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pressureBytes of heap are more than all calls need together: the largest message takes half.
	pressureBytes = 64 << 20
	// pressureStep is how much is taken in before memory is looked at again.
	pressureStep = 1 << 20
	// smallLoad is what nobody is cut off for.
	smallLoad = 1 << 20
	// goingTime is how long what a connection holds that was cut off may take to be let go.
	goingTime = time.Second
)

// heapBytes tells how much memory is in use; tests say what they like.
var heapBytes = func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)

	return sample[0].Value.Uint64()
}

// pressure keeps what all callers together have apid hold within its memory. It is driven by what comes in, not by a
// clock: who takes in the last byte of a step looks, and while it is decided who goes, nobody takes in more than one
// step. So memory cannot grow faster than it is looked at, and with nothing coming in nothing wakes.
type pressure struct {
	log *slog.Logger
	// grown is what was taken in since memory was looked at.
	grown atomic.Int64
	// looking is held while it is decided. Who holds it takes no other lock than mu: readers and writers wait here with theirs.
	looking sync.Mutex

	mu sync.Mutex
	// callers are the connections that have called, until they are closed and their calls have ended; those that were
	// cut off stay for one look more, for what they held goes a moment later.
	callers map[*visitor]struct{}
}

func newPressure(log *slog.Logger) *pressure {
	return &pressure{log: log, callers: map[*visitor]struct{}{}}
}

// grow is told of what is taken in. It returns when there is room.
func (p *pressure) grow(bytes int) {
	if p.grown.Add(int64(bytes)) < pressureStep {
		return
	}

	for _, v := range p.look() {
		p.log.Warn("connection cut off: memory is short, and it holds most", "from", v.RemoteAddr(), "bytes", v.load.bytes())
	}
}

// look returns the connections that it has cut off.
func (p *pressure) look() []*visitor {
	p.looking.Lock()
	defer p.looking.Unlock()

	// Another may have looked meanwhile.
	if p.grown.Load() < pressureStep {
		return nil
	}

	p.grown.Store(0)

	heap := heapBytes()

	// What is no longer in use is no reason to cut anybody off. What lies in pools goes with the second collection.
	for range 2 {
		if heap <= pressureBytes {
			return nil
		}

		runtime.GC()

		heap = heapBytes()
	}

	return p.relieve(int64(heap))
}

// relieve cuts the connections off that hold most, until the others fit in. Those that were cut off before and are not
// gone yet are counted as if they were: nobody goes for what they hold.
func (p *pressure) relieve(heap int64) (out []*visitor) {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()

	for v := range p.callers {
		if v.cut.IsZero() {
			continue
		}

		if now.Sub(v.cut) < goingTime {
			heap -= v.load.bytes()
		}

		if v.left && v.load.calls.Load() == 0 {
			delete(p.callers, v)
		}
	}

	for heap > pressureBytes {
		v := p.heaviest()
		if v == nil {
			break
		}

		v.cut = now
		v.Conn.Close() // gRPC sees it, ends the calls and closes the visitor

		heap -= v.load.bytes()
		out = append(out, v)
	}

	return out
}

func (p *pressure) heaviest() (most *visitor) {
	bytes := int64(smallLoad)

	for v := range p.callers {
		if b := v.load.bytes(); b > bytes && v.cut.IsZero() {
			most, bytes = v, b
		}
	}

	return most
}

// begin counts a call in, and returns what counts it out.
func (v *visitor) begin() (end func()) {
	p := v.door.pressure

	p.mu.Lock()
	v.load.begin()
	p.callers[v] = struct{}{}
	p.mu.Unlock()

	p.grow(callBytes)

	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		v.load.calls.Add(-1)
		p.forget(v)
	}
}

// left is called when the connection is closed.
func (p *pressure) left(v *visitor) {
	p.mu.Lock()
	defer p.mu.Unlock()

	v.left = true
	p.forget(v)
}

// forget drops a connection that holds nothing any more.
func (p *pressure) forget(v *visitor) {
	if v.left && v.load.calls.Load() == 0 && v.cut.IsZero() {
		delete(p.callers, v)
	}
}
