// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// goneInterval is how often a connection that waits is checked for a client that has given up.
const goneInterval = time.Second

// await waits until an upstream answers. It reports whether one does, and the client of the connection still waits for it.
func (b *Balancer) await(ctx context.Context, client net.Conn) bool {
	for ctx.Err() == nil { // it ends also when the port is closed
		answers, turned := b.look(&b.answers)
		if answers {
			return true
		}

		if gone(client) {
			return false
		}

		select {
		case <-ctx.Done():
		case <-turned:
		case <-time.After(goneInterval):
		}
	}

	return false
}

// gone reports whether the other end has closed a connection, even if there is something to read still.
func gone(conn net.Conn) bool {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}

	control, err := raw.SyscallConn()
	if err != nil {
		return true // it was closed
	}

	closed := false

	err = control.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}

		n, err := unix.Poll(fds, 0)
		closed = err == nil && n > 0
	})

	return closed || err != nil
}
