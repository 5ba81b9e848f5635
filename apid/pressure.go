// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"log/slog"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	// pressureBytes of heap are more than all calls need together: the largest message takes half.
	pressureBytes = 64 << 20
	// pressureStep is how much is taken in before memory is looked at again.
	pressureStep = 1 << 20
	// smallLoad is what no connection is shed for.
	smallLoad = 1 << 20
)

// heapBytes is how much memory is in use; a variable for tests.
var heapBytes = func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)

	return sample[0].Value.Uint64()
}

// pressure sheds connections when what all callers together have apid hold does not fit in its memory. It is driven by what comes in, not
// by a clock: who takes in the last byte of a step looks, and meanwhile nobody takes in more than one step. So memory cannot grow
// faster than it is looked at, and with nothing coming in nothing wakes.
type pressure struct {
	log *slog.Logger
	// grown is what was taken in since memory was looked at.
	grown atomic.Int64

	// mu is held while memory is looked at. Who holds it takes no other lock: readers and writers wait here with theirs.
	mu sync.Mutex
	// calling are the connections that have called, until they are closed and their calls have ended.
	calling map[*connection]struct{}
}

func newPressure(log *slog.Logger) *pressure {
	return &pressure{log: log, calling: map[*connection]struct{}{}}
}

// grow counts what is taken in. It returns when there is room.
func (p *pressure) grow(bytes int) {
	if p.grown.Add(int64(bytes)) < pressureStep {
		return
	}

	for _, c := range p.look() {
		p.log.Warn("connection cut off: memory is short, and it holds most", "from", c.RemoteAddr(), "bytes", c.load.bytes())
	}
}

// look returns the connections that it has shed.
func (p *pressure) look() []*connection {
	p.mu.Lock()
	defer p.mu.Unlock()

	// Another may have looked meanwhile.
	if p.grown.Load() < pressureStep {
		return nil
	}

	p.grown.Store(0)

	heap := heapBytes()

	// What is no longer in use is no reason to shed anybody. What lies in pools goes with the second collection.
	for range 2 {
		if heap <= pressureBytes {
			return nil
		}

		runtime.GC()

		heap = heapBytes()
	}

	return p.shed(int64(heap))
}

// shed cuts the connections off that hold most, until the others fit in. What those hold that were cut off before counts as gone: nobody
// else is shed for it.
func (p *pressure) shed(heap int64) (out []*connection) {
	for c := range p.calling {
		if c.shed {
			heap -= c.load.bytes()
		}
	}

	for heap > pressureBytes {
		var most *connection

		bytes := int64(smallLoad)

		for c := range p.calling {
			if b := c.load.bytes(); b > bytes && !c.shed {
				most, bytes = c, b
			}
		}

		if most == nil {
			break
		}

		most.shed = true
		most.Conn.Close() // gRPC sees it, ends the calls and closes the connection

		heap -= bytes
		out = append(out, most)
	}

	return out
}

// begin counts a call in, and returns what counts it out.
func (c *connection) begin() (end func()) {
	p := c.listener.pressure

	p.mu.Lock()
	c.load.begin()
	p.calling[c] = struct{}{}
	p.mu.Unlock()

	p.grow(callBytes)

	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		c.load.calls.Add(-1)
		p.forget(c)
	}
}

// left is called when the connection is closed.
func (p *pressure) left(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()

	c.left = true
	p.forget(c)
}

// forget drops a connection that holds nothing any more.
func (p *pressure) forget(c *connection) {
	if c.left && c.load.calls.Load() == 0 {
		delete(p.calling, c)
	}
}
