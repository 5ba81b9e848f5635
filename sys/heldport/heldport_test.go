// SPDX-License-Identifier: Apache-2.0

//go:build linux

package heldport_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/heldport"
	"github.com/seed-59268b81/talos/sys/stranger"
)

func init() { stranger.Main() }

// refusesStrangers checks that user 65534 cannot bind the port.
func refusesStrangers(t *testing.T, port int, state string) {
	t.Helper()

	if os.Geteuid() != 0 {
		return // a process of another user requires root
	}

	if got := stranger.Run(t, "", stranger.Task{Ports: []int{port}, Patience: 20 * time.Millisecond}); len(got.Taken) > 0 {
		t.Errorf("%s: another user got the port: %q", state, got.Taken)
	}
}

func refused(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		_ = conn.Close()

		return errors.New("the connection was taken")
	}

	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}

	return nil
}

// TestPort holds that a port refuses connections and cannot be bound by others while no listener is open, also with connections that were
// open before, and that listeners may follow on each other.
func TestPort(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	addr, address := free.Addr().(*net.TCPAddr), free.Addr().String()
	_ = free.Close()

	port, err := heldport.Hold(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = port.Close() }()

	refusesStrangers(t, addr.Port, "held from the beginning")

	var both []net.Conn // they stay open while the next listener starts

	for round := range 3 {
		if err := refused(address); err != nil {
			t.Fatalf("round %d: before Listen: got %v, want refused", round, err)
		}

		l, err := port.Listen()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}

		refusesStrangers(t, addr.Port, "listening")

		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}

		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}

		both = append(both, client, server)

		waiting, err := net.Dial("tcp", address) // is never accepted
		if err != nil {
			t.Fatal(err)
		}

		accepted := make(chan error, 1)

		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					accepted <- err

					return
				}

				_ = conn.Close()
			}
		}()

		if err := l.Close(); err != nil {
			t.Errorf("round %d: close: %v", round, err)
		}

		if err := <-accepted; !errors.Is(err, net.ErrClosed) && !errors.Is(err, unix.EINVAL) {
			t.Errorf("round %d: accept: got %v, want that the listener is closed", round, err)
		}

		if err := refused(address); err != nil {
			t.Errorf("round %d: after Close: got %v, want refused", round, err)
		}

		refusesStrangers(t, addr.Port, "after the listener, with an open connection")

		if _, err := client.Write([]byte("x")); err != nil {
			t.Errorf("round %d: the accepted connection: %v", round, err)
		}

		if _, err := io.ReadFull(server, make([]byte, 1)); err != nil {
			t.Errorf("round %d: the accepted connection: %v", round, err)
		}

		_ = waiting.SetReadDeadline(time.Now().Add(time.Second))

		if _, err := waiting.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("round %d: the connection that was not accepted is open", round)
		}

		_ = waiting.Close()
	}

	// The server's side is closed first, so that its connections linger.
	for i := range both {
		_ = both[len(both)-1-i].Close()
	}

	refusesStrangers(t, addr.Port, "with connections that linger")

	if err := port.Close(); err != nil {
		t.Fatal(err)
	}

	again, err := heldport.Hold(t.Context(), address)
	if err != nil {
		t.Fatalf("held again, with connections that linger: %v", err)
	}

	refusesStrangers(t, addr.Port, "held again")

	for _, wrong := range []string{"no address", "127.0.0.1:0"} {
		if _, err := heldport.Hold(t.Context(), wrong); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}

	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestTaken holds that a port with another listener is not held.
func TestTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	if _, err := heldport.Hold(t.Context(), l.Addr().String()); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("got %v, want %v", err, unix.EADDRINUSE)
	}
}
