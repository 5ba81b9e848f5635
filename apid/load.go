// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

const (
	// callBytes are what a call takes for itself, what the window of its stream lets through included.
	callBytes = 128 << 10
	// headerBytes of a call, about, that are read and are not part of its requests.
	headerBytes = 512
)

// load is what one connection has apid hold: requests that have come in part, and answers that it does not take. It is
// an estimate, made to find the one that holds most when memory is short; each call starts it afresh.
type load struct{ calls, read, taken, owed, written atomic.Int64 }

func (l *load) bytes() int64 {
	return l.calls.Load()*callBytes + max(0, l.read.Load()-l.taken.Load()) + max(0, l.owed.Load()-l.written.Load())
}

// begin is called with each call.
func (l *load) begin() {
	// Answers that wait to be read outlive their calls; more is written than they are.
	l.owed.Store(max(l.owed.Load(), l.written.Load()))

	if l.calls.Add(1) == 1 {
		l.taken.Store(l.read.Load())
	} else {
		l.taken.Store(min(l.read.Load(), l.taken.Load()+headerBytes))
	}
}

// Read implements net.Conn.
func (v *visitor) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	v.load.read.Add(int64(n))
	v.door.pressure.grow(n)

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

// weighed is a call whose frames are counted.
type weighed struct {
	grpc.ServerStream

	visitor *visitor
}

// RecvMsg implements grpc.ServerStream.
func (s *weighed) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)

	if f, ok := m.(*frame); ok && err == nil {
		s.visitor.load.taken.Add(int64(f.data.Len()))
	}

	return err
}

// SendMsg implements grpc.ServerStream.
func (s *weighed) SendMsg(m any) error {
	if f, ok := m.(*frame); ok {
		s.visitor.load.owed.Add(int64(f.data.Len()))
		s.visitor.door.pressure.grow(f.data.Len())
	}

	return s.ServerStream.SendMsg(m)
}
