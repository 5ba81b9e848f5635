// SPDX-License-Identifier: Apache-2.0

package hostdns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Server answers queries on one address. Each has its own limits, so that pods cannot keep the machine itself from resolving names.
type Server struct {
	Resolver *Resolver
	Log      *slog.Logger

	queries, conns limit
}

// NewServer returns a server.
func NewServer(r *Resolver, log *slog.Logger) *Server {
	return &Server{Resolver: r, Log: log, queries: newLimit(maxQueries), conns: newLimit(maxConns)}
}

// limit bounds how often something happens at the same time.
type limit chan struct{}

func newLimit(n int) limit { return make(limit, n) }

// try reports whether there is room; then done must follow.
func (l limit) try() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l limit) done() { <-l }

// Serve answers queries over UDP and TCP until the context ends; then it closes both.
func (s *Server) Serve(ctx context.Context, packets net.PacketConn, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	context.AfterFunc(ctx, func() { _, _ = packets.Close(), listener.Close() })

	var all guard.Group

	for _, half := range []func() error{
		func() error { return s.serveUDP(ctx, packets, &all) },
		func() error { return s.serveTCP(ctx, listener, &all) },
	} {
		all.Go(func() error {
			defer cancel() // one does not run without the other

			return half()
		})
	}

	return all.Wait()
}

func (s *Server) serveUDP(ctx context.Context, conn net.PacketConn, all *guard.Group) error {
	buffer := make([]byte, maxDatagram)

	for {
		n, from, err := conn.ReadFrom(buffer)

		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("receive DNS queries on %s: %w", conn.LocalAddr(), err)
		case !s.queries.try():
			continue
		}

		wire := append([]byte{}, buffer[:n]...)

		all.Go(func() error {
			defer s.queries.done()

			if reply := s.answer(ctx, wire, true); reply != nil {
				_, _ = conn.WriteTo(reply, from) // a client that is gone needs no reply
			}

			return nil
		})
	}
}

func (s *Server) serveTCP(ctx context.Context, l net.Listener, all *guard.Group) error {
	for {
		conn, err := l.Accept()

		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ECONNABORTED):
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}

			continue
		case err != nil:
			return fmt.Errorf("accept DNS connections on %s: %w", l.Addr(), err)
		case !s.conns.try():
			_ = conn.Close()

			continue
		}

		all.Go(func() error {
			defer s.conns.done()
			defer conn.Close()

			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()

			s.serveConn(ctx, conn)

			return nil
		})
	}
}

// serveConn answers the queries of a connection, one after the other, until the client closes it or is idle.
func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	for {
		var length [2]byte

		_ = conn.SetDeadline(time.Now().Add(idleTime))

		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}

		wire := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, wire); err != nil || !s.queries.try() {
			return
		}

		reply := s.answer(ctx, wire, false)

		s.queries.done()

		if reply == nil {
			return
		}

		_ = conn.SetDeadline(time.Now().Add(writeTimeout))

		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// answer returns the reply to a query. A query whose answer panics gets none.
func (s *Server) answer(ctx context.Context, wire []byte, udp bool) (reply []byte) {
	err := guard.Call(func() error {
		reply = s.Resolver.Answer(ctx, wire, udp)

		return nil
	})
	if err != nil {
		s.Log.Error("a DNS query could not be answered", "error", err)

		return nil
	}

	return reply
}
