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
	// pressureBytes is the size of the heap above which connections are shed. Normal use stays below: the largest message takes
	// half of it.
	pressureBytes = 64 << 20
	// pressureStep is how many bytes are received before memory is checked again.
	pressureStep = 1 << 20
	// smallLoad is the load below which no connection is shed.
	smallLoad = 1 << 20
)

// heapBytes returns how much memory is in use. It is a variable for tests.
var heapBytes = func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)

	return sample[0].Value.Uint64()
}

// pressure sheds connections when the load of all callers together does not fit into memory. It is driven by received bytes, not
// by a clock: the goroutine that receives the last byte of a step checks memory, and the others receive at most one more step
// until it is done. So memory cannot grow faster than it is checked, and an idle apid does nothing.
type pressure struct {
	log *slog.Logger
	// grown is how many bytes were received since the last check.
	grown atomic.Int64

	// mu is held during a check. No other lock may be taken with it: readers and writers wait for it while they hold theirs.
	mu sync.Mutex
	// calling are the connections that have made a call, until they are closed and their calls have ended.
	calling map[*connection]struct{}
}

func newPressure(log *slog.Logger) *pressure {
	return &pressure{log: log, calling: map[*connection]struct{}{}}
}

// grow counts received bytes. It returns when there is room.
func (p *pressure) grow(bytes int) {
	if p.grown.Add(int64(bytes)) < pressureStep {
		return
	}

	for _, c := range p.look() {
		p.log.Warn("connection closed: memory is short, and it holds most", "from", c.RemoteAddr(), "bytes", c.load.bytes())
	}
}

// look checks memory, and returns the connections that it has shed.
func (p *pressure) look() []*connection {
	p.mu.Lock()
	defer p.mu.Unlock()

	// Another goroutine may have checked first.
	if p.grown.Load() < pressureStep {
		return nil
	}

	p.grown.Store(0)

	heap := heapBytes()

	// Collect garbage first. Pools are freed by the second collection.
	for range 2 {
		if heap <= pressureBytes {
			return nil
		}

		runtime.GC()

		heap = heapBytes()
	}

	return p.shed(int64(heap))
}

// shed closes the connections that hold most, until the rest fits. The load of connections that were shed earlier counts as
// freed.
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

// begin records a call, and returns the function that removes it.
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
