// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"sync/atomic"

	"google.golang.org/grpc"
)

const (
	// callBytes is the memory of a call itself, including the window of its stream.
	callBytes = 128 << 10
	// headerBytes is about how many bytes of a call are read besides its requests.
	headerBytes = 512
)

// load is what one connection makes apid hold: calls, bytes of incomplete requests, and bytes of answers that the caller has not
// read. It is an estimate that only selects the connection to shed: the heap's own figure says how much memory is in use. The
// overhead of HTTP/2 makes the estimate drift, so each call corrects it.
type load struct{ calls, in, out atomic.Int64 }

func (l *load) bytes() int64 {
	return l.calls.Load()*callBytes + max(0, l.in.Load()) + max(0, l.out.Load())
}

// begin adds a call.
func (l *load) begin() {
	// Unread answers outlive their calls, so out is kept, but a negative value is an error of the estimate.
	l.out.Add(max(0, -l.out.Load()))

	// So is a negative value of in.
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

// counted is a call that updates the load by its frames.
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
