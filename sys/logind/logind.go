// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package logind is the part of systemd-logind, with the message bus that it is reached over, by which a kubelet ends its pods
// before the machine goes down. The kubelet takes an inhibitor lock when it starts. Told by the signal PrepareForShutdown, it
// ends its pods in the order of their priority, each with its grace period, and closes the lock
// (https://systemd.io/INHIBITOR_LOCKS).
//
// The real ones would be dbus-daemon, systemd-logind and what these stand on, for five calls and a signal. The messages
// are encoded and decoded by godbus.
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
	named      int // peers so far
	inhibitors map[*inhibitor]bool
	released   chan struct{} // closed and replaced when an inhibitor lock was
	preparing  bool
}

// inhibitor is one lock: the client has the other end of a pipe, which it, or the kernel when it ends, closes.
type inhibitor struct {
	who, why string
	end      *os.File
}

// Listen makes the socket, and its folder, which only this user can enter. Its clients are of this user.
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

// PrepareForShutdown tells the clients that the machine is going down, and returns when all inhibitor locks are released, or,
// naming those that are not, when the context ends. No new lock is given from then on.
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
			b.log.Warn("a client of the message bus was not told of the shutdown", "client", p.name, "error", err)
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

// holders of inhibitor locks; the mutex is held.
func (b *Bus) holders() []string {
	out := make([]string, 0, len(b.inhibitors))
	for i := range b.inhibitors {
		out = append(out, fmt.Sprintf("%s (%s)", i.who, i.why))
	}

	slices.Sort(out)

	return out
}

// errPreparing refuses a lock that would come too late.
var errPreparing = errors.New("the machine is going down")

// inhibit returns the end of a new lock that goes to the client.
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
	lock.end.Close() // a pipe that is read only

	b.mu.Lock()
	defer b.mu.Unlock()

	delete(b.inhibitors, lock)
	close(b.released)
	b.released = make(chan struct{})
}
