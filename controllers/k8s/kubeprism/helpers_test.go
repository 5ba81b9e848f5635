// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
	"github.com/seed-59268b81/talos/sys/heldport"
)

// server is an API server that sends its name on each connection, and keeps the connection until the client or the server closes it.
type server struct {
	address, name string

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

// serve starts a server, which stops with the test.
func serve(t *testing.T, name string) *server {
	t.Helper()

	s := &server{name: name, address: freeAddress(t)}
	s.start(t)
	t.Cleanup(s.stop)

	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	return l.Addr().String()
}

func (s *server) start(t *testing.T) {
	t.Helper()

	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}

	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()

	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}

			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()

			go func() {
				_, _ = conn.Write([]byte(s.name))
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}()
}

// stop closes the port and all connections, as when a process exits.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()

	_ = s.listener.Close()

	for _, conn := range s.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}

	s.conns = nil
}

// connects is a probe for servers without TLS.
func connects(ctx context.Context, address string, answered func()) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}

	answered()

	return conn.Close()
}

// start runs a balancer until the test ends.
func start(t *testing.T, balancer *kubeprism.Balancer) (address string) {
	t.Helper()

	address = freeAddress(t)

	port, err := heldport.Hold(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}

	if balancer.Probe == nil {
		balancer.Probe = connects
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)

	go func() { done <- balancer.Serve(ctx, port, slog.New(slog.DiscardHandler)) }()
	go func() { done <- balancer.Check(ctx, func() {}, slog.New(slog.DiscardHandler)) }()

	t.Cleanup(func() {
		cancel()

		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("got %v, want nil at the end of its context", err)
			}
		}

		_ = port.Close()
	})

	return address
}

// connect opens a connection to a server, and returns the server's name, which has the given length.
func connect(t *testing.T, address string, letters int) (net.Conn, string) {
	t.Helper()

	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	name := make([]byte, letters)
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))

	if _, err := io.ReadFull(conn, name); err != nil {
		t.Fatal(err)
	}

	return conn, string(name)
}

// refused reports whether connections are refused.
func refused(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		_ = conn.Close()
	}

	return errors.Is(err, syscall.ECONNREFUSED)
}

// closed reports whether the server closes a connection within a time.
func closed(conn net.Conn, within time.Duration) bool {
	_ = conn.SetReadDeadline(time.Now().Add(within))
	_, err := conn.Read(make([]byte, 1))

	var netErr net.Error

	return err != nil && !(errors.As(err, &netErr) && netErr.Timeout())
}

// within waits until a condition is true, and returns how long that took.
func within(t *testing.T, limit time.Duration, what string, is func() bool) time.Duration {
	t.Helper()

	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if is() {
			return time.Since(begin)
		}

		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

// full returns the address of a socket that neither accepts nor refuses connections, as a machine without power.
func full(t *testing.T) string {
	t.Helper()

	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = syscall.Close(fd) })

	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}

	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}

	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))

	for {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}

		t.Cleanup(func() { _ = conn.Close() })
	}
}
