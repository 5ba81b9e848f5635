// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"sync/atomic"

	"google.golang.org/grpc"
)

const (
	// callBytes are what a call takes for itself, what the window of its stream lets through included.
	callBytes = 128 << 10
	// headerBytes of a call, about, that are read and are not part of its requests.
	headerBytes = 512
)

// load is what one connection has apid hold: calls, bytes of requests that are not complete, and bytes of answers that the caller does not
// take. It is an estimate that only chooses whom to shed: how much memory is in use is the heap's own figure. What HTTP/2 adds to
// requests and answers makes it drift, so each call corrects it.
type load struct{ calls, in, out atomic.Int64 }

func (l *load) bytes() int64 {
	return l.calls.Load()*callBytes + max(0, l.in.Load()) + max(0, l.out.Load())
}

// begin counts a call.
func (l *load) begin() {
	// Answers that wait to be read outlive their calls; less than none cannot wait.
	l.out.Add(max(0, -l.out.Load()))

	// Nor can less than nothing have come.
	if in := l.in.Load(); l.calls.Add(1) == 1 || in < headerBytes {
		l.in.Add(-in)
	} else {
		l.in.Add(-headerBytes)
	}
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.load.in.Add(int64(n))
	c.listener.pressure.grow(n)

	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.load.out.Add(-int64(n))

	return n, err
}

// counted is a call whose frames are counted.
type counted struct {
	grpc.ServerStream

	conn *connection
}

// RecvMsg implements grpc.ServerStream.
func (s *counted) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)

	if f, ok := m.(*frame); ok && err == nil {
		s.conn.load.in.Add(-int64(f.data.Len()))
	}

	return err
}

// SendMsg implements grpc.ServerStream.
func (s *counted) SendMsg(m any) error {
	if f, ok := m.(*frame); ok {
		s.conn.load.out.Add(int64(f.data.Len()))
		s.conn.listener.pressure.grow(f.data.Len())
	}

	return s.ServerStream.SendMsg(m)
}
