// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package logind is the part of systemd-logind, with its message bus, that a kubelet needs to end its pods before the machine shuts
// down. The kubelet takes an inhibitor lock when it starts. On the signal PrepareForShutdown it ends its pods in the order of their
// priority, each with its grace period, and closes the lock (https://systemd.io/INHIBITOR_LOCKS).
//
// Five calls and a signal do not justify dbus-daemon, systemd-logind and their dependencies. Package godbus encodes the messages.
package logind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// Socket is where clients look for the system's message bus.
const Socket = "/run/dbus/system_bus_socket"

// Bus serves the clients of one socket.
type Bus struct {
	log      *slog.Logger
	listener *net.UnixListener

	mu         sync.Mutex
	peers      map[*peer]bool
	named      int // the number of peers so far
	inhibitors map[*inhibitor]bool
	released   chan struct{} // closed and replaced when an inhibitor lock is released
	preparing  bool
}

// inhibitor is one lock: the client has the other end of a pipe, which the client closes, or the kernel when the client ends.
type inhibitor struct {
	who, why string
	end      *os.File
}

// Listen creates the socket, and its folder, which only this user can enter. Only processes of this user can be clients.
func Listen(path string, log *slog.Logger) (*Bus, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("message bus: %w", err)
	}

	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("message bus: %w", err)
	}

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("message bus: %w", err)
	}

	return &Bus{
		log: log, listener: l,
		peers: map[*peer]bool{}, inhibitors: map[*inhibitor]bool{}, released: make(chan struct{}),
	}, nil
}

// Serve serves clients until the context ends, and closes the socket and all connections then.
func (b *Bus) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { b.listener.Close() })
	defer stop()

	var serving guard.Group

	defer serving.Wait()

	for {
		conn, err := b.listener.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}

			return fmt.Errorf("message bus: %w", err)
		}

		p := &peer{bus: b, conn: conn}

		serving.Go(func() error {
			closing := context.AfterFunc(ctx, func() { conn.Close() })
			defer closing()

			if err := guard.Call(p.serve); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
				b.log.Warn("a client of the message bus is disconnected", "client", p.name, "error", err)
			}

			return nil
		})
	}
}

// PrepareForShutdown signals the clients that the machine shuts down, and returns when all inhibitor locks are released. When the
// context ends first, the error names the holders. From this call on no new lock is granted.
func (b *Bus) PrepareForShutdown(ctx context.Context) error {
	b.mu.Lock()
	b.preparing = true
	peers := make([]*peer, 0, len(b.peers))

	for p := range b.peers {
		peers = append(peers, p)
	}
	b.mu.Unlock()

	for _, p := range peers {
		if err := p.signal(managerInterface, "PrepareForShutdown", managerPath, true); err != nil {
			b.log.Warn("a client of the message bus did not get the signal of the shutdown", "client", p.name, "error", err)
		}
	}

	for {
		b.mu.Lock()
		released := b.released
		left := b.holders()
		b.mu.Unlock()

		if len(left) == 0 {
			return nil
		}

		select {
		case <-released:
		case <-ctx.Done():
			return fmt.Errorf("wait for inhibitor locks of %s: %w", strings.Join(left, ", "), ctx.Err())
		}
	}
}

// holders returns the holders of inhibitor locks; the caller holds the mutex.
func (b *Bus) holders() []string {
	out := make([]string, 0, len(b.inhibitors))
	for i := range b.inhibitors {
		out = append(out, fmt.Sprintf("%s (%s)", i.who, i.why))
	}

	slices.Sort(out)

	return out
}

// errPreparing refuses a lock during a shutdown.
var errPreparing = errors.New("the machine is shutting down")

// inhibit returns the end of a new lock that is sent to the client.
func (b *Bus) inhibit(who, why string) (*os.File, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("inhibitor lock: %w", err)
	}

	ours, theirs := os.NewFile(uintptr(fds[0]), "inhibitor"), os.NewFile(uintptr(fds[1]), "inhibitor")
	lock := &inhibitor{who: who, why: why, end: ours}

	b.mu.Lock()
	defer b.mu.Unlock()

	if b.preparing {
		return nil, errors.Join(errPreparing, ours.Close(), theirs.Close())
	}

	b.inhibitors[lock] = true

	guard.Detach(b.log, "inhibitor lock", func() {
		_, _ = io.Copy(io.Discard, ours)
		b.release(lock)
	})

	return theirs, nil
}

func (b *Bus) release(lock *inhibitor) {
	lock.end.Close() // no data can be lost: it was only read

	b.mu.Lock()
	defer b.mu.Unlock()

	delete(b.inhibitors, lock)
	close(b.released)
	b.released = make(chan struct{})
}
