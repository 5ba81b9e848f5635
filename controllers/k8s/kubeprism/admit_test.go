// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

// TestLimitBeforeDial: connections count from when they are accepted. While the API server accepts none of them, those over the limit are closed at
// once, and it is not dialed for them.
func TestLimitBeforeDial(t *testing.T) {
	const all, others = 4, 3

	var root atomic.Bool

	balancer := kubeprism.Balancer{Probe: func(_ context.Context, _ string, answered func()) error {
		answered()

		return nil
	}}
	balancer.Limit(all, all-others, func(net.Conn) bool { return root.Load() })
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: full(t)}})

	address := start(t, &balancer)
	dial := func() net.Conn {
		t.Helper()

		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = conn.Close() })

		return conn
	}

	var held []net.Conn

	within(t, 5*time.Second, "the port opens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })

			held = append(held, conn)
		}

		return err == nil
	})

	for len(held) < others {
		held = append(held, dial())
	}

	within(t, time.Second, "they are admitted", func() bool { return balancer.Admitted() == others })

	if !closed(dial(), time.Second) {
		t.Error("the share of others is in use: one more connection of another user is open")
	}

	root.Store(true)

	held = append(held, dial())

	within(t, time.Second, "one of root is admitted", func() bool { return balancer.Admitted() == all })

	if !closed(dial(), time.Second) {
		t.Error("all are in use: one more connection is open")
	}

	for _, conn := range held {
		if closed(conn, 10*time.Millisecond) {
			t.Error("a connection within the limit is closed")
		}
	}
}

// TestOwnedByRoot looks up the owner of real sockets.
func TestOwnedByRoot(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	v4 := l.Addr().String()
	mapped := net.JoinHostPort("::ffff:127.0.0.1", v4[len("127.0.0.1:"):])

	for name, address := range map[string]string{"IPv4": v4, "an IPv4 address by IPv6": mapped} {
		client, err := dialFamily(address, name != "IPv4")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}

		if got, want := kubeprism.OwnedByRoot(conn), os.Getuid() == 0; got != want {
			t.Errorf("%s: got root's: %v, want %v", name, got, want)
		}

		if os.Getuid() == 0 {
			if err := client.Chown(1000, 1000); err != nil {
				t.Fatal(err)
			}

			if kubeprism.OwnedByRoot(conn) {
				t.Errorf("%s: of user 1000: got root's", name)
			}
		}

		_ = client.Close()

		if kubeprism.OwnedByRoot(conn) {
			t.Errorf("%s: closed: got root's", name)
		}

		_ = conn.Close()
	}
}

// dialFamily connects a socket of IPv4 or IPv6 to an address of IPv4.
func dialFamily(address string, v6 bool) (*os.File, error) {
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}

	family := unix.AF_INET

	var to unix.Sockaddr = &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}
	if v6 {
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Port: tcp.Port, Addr: [16]byte(tcp.IP.To16())}
	}

	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}

	f := os.NewFile(uintptr(fd), address)

	if err := unix.Connect(fd, to); err != nil {
		_ = f.Close()

		return nil, err
	}

	return f, nil
}

// TestAcceptAgain: a process without free descriptors accepts connections again when it has some.
func TestAcceptAgain(t *testing.T) {
	api := serve(t, "api")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	port := &poorPort{Listener: l}
	port.fails.Store(3)

	balancer := kubeprism.Balancer{Probe: connects}
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: api.address}})

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)

	go func() { done <- balancer.Serve(ctx, port, slog.New(slog.DiscardHandler)) }()
	go func() { done <- balancer.Check(ctx, func() {}, slog.New(slog.DiscardHandler)) }()

	if _, name := connect(t, l.Addr().String(), 3); name != "api" || port.fails.Load() >= 0 {
		t.Errorf("got %q, %d failures left", name, port.fails.Load())
	}

	cancel()

	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// poorPort lacks descriptors for a number of calls.
type poorPort struct {
	net.Listener

	fails atomic.Int32
}

func (p *poorPort) Listen() (net.Listener, error) { return p, nil }

func (p *poorPort) Accept() (net.Conn, error) {
	if p.fails.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}

	return p.Listener.Accept()
}
