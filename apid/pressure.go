// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

const (
	// pressureBytes of heap are more than all calls need together: the largest message takes half.
	pressureBytes = 64 << 20
	// callBytes are what a call takes for itself, what the window of its stream lets through included.
	callBytes = 128 << 10
	// smallLoad is what nobody is cut off for.
	smallLoad = 1 << 20
	// headerBytes of a call, about, that are read and are not part of its requests.
	headerBytes = 512
	// pressurePeriod is how often memory is looked at, while there are calls.
	pressurePeriod = 20 * time.Millisecond
)

// heapBytes tells how much memory is in use; tests say what they like.
var heapBytes = func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)

	return sample[0].Value.Uint64()
}

// load is what one connection has apid hold: requests that have come in part, and answers that it does not take. It is
// an estimate, made to find the one that holds most when memory is short; each call starts it afresh.
type load struct{ calls, read, taken, owed, written atomic.Int64 }

func (l *load) bytes() int64 {
	return l.calls.Load()*callBytes + max(0, l.read.Load()-l.taken.Load()) + max(0, l.owed.Load()-l.written.Load())
}

// begin and end are called with each call.
func (l *load) begin() {
	// Answers that wait to be read outlive their calls; more is written than they are.
	l.owed.Store(max(l.owed.Load(), l.written.Load()))

	if l.calls.Add(1) == 1 {
		l.taken.Store(l.read.Load())
	} else {
		l.taken.Store(min(l.read.Load(), l.taken.Load()+headerBytes))
	}
}

func (l *load) end() { l.calls.Add(-1) }

// Read implements net.Conn.
func (v *visitor) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	v.load.read.Add(int64(n))

	return n, err
}

// Write implements net.Conn.
func (v *visitor) Write(p []byte) (int, error) {
	n, err := v.Conn.Write(p)
	v.load.written.Add(int64(n))

	return n, err
}

// visitorOf returns the connection that a call came by, nil if it did not come through a door.
func visitorOf(ctx context.Context) *visitor {
	id := identityOf(ctx)
	if id == nil {
		return nil
	}

	v, _ := id.conn.(*visitor)

	return v
}

func identityOf(ctx context.Context) *identity {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}

	id, _ := p.AuthInfo.(*identity)

	return id
}

// begin counts a call in, and returns what counts it out. While there are calls, memory is watched.
func (v *visitor) begin() (end func()) {
	d := v.door

	d.mu.Lock()
	defer d.mu.Unlock()

	v.load.begin()

	if d.calls++; !d.watched {
		d.watched = true

		time.AfterFunc(pressurePeriod, d.relieve)
	}

	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()

		v.load.end()
		d.calls--
	}
}

// relieve cuts the connection off that holds most, when memory is short, and comes back as long as there are calls.
func (d *door) relieve() {
	short := heapBytes() > pressureBytes
	if short {
		// What is no longer in use is no reason to cut anybody off.
		runtime.GC()

		short = heapBytes() > pressureBytes
	}

	d.mu.Lock()

	if d.watched = d.calls > 0; d.watched {
		time.AfterFunc(pressurePeriod, d.relieve)
	}

	var out *visitor
	if short {
		out = d.heaviest()
	}
	d.mu.Unlock()

	if out != nil {
		d.log.Warn("connection cut off: memory is short, and it holds most", "from", out.RemoteAddr(), "bytes", out.load.bytes())
		out.Close() //nolint:errcheck // it is cut off
	}
}

func (d *door) heaviest() (most *visitor) {
	bytes := int64(smallLoad)

	for _, visitors := range d.inside {
		for v := range visitors {
			if b := v.load.bytes(); b > bytes {
				most, bytes = v, b
			}
		}
	}

	return most
}

// weighed is a call whose frames are counted.
type weighed struct {
	grpc.ServerStream

	load *load
}

// RecvMsg implements grpc.ServerStream.
func (s *weighed) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)

	if f, ok := m.(*frame); ok && err == nil {
		s.load.taken.Add(int64(f.data.Len()))
	}

	return err
}

// SendMsg implements grpc.ServerStream.
func (s *weighed) SendMsg(m any) error {
	if f, ok := m.(*frame); ok {
		s.load.owed.Add(int64(f.data.Len()))
	}

	return s.ServerStream.SendMsg(m)
}
