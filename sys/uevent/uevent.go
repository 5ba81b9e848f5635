// SPDX-License-Identifier: Apache-2.0

// Package uevent listens to the kernel's device events (netlink's kobject family): a device appeared, changed
// or went. The kernel drops events when the reader is slow; Listen then says so with an Event of action
// Overrun, after which the reader must look at sysfs again.
package uevent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Action is what happened to a device.
type Action string

// The actions that matter here; the kernel has more (move, bind, unbind, online, offline).
const (
	Add    Action = "add"
	Remove Action = "remove"
	Change Action = "change"
	// Overrun is ours: events were lost.
	Overrun Action = "overrun"
)

// Event is one message of the kernel.
type Event struct {
	Action Action
	// Devpath is the device's path below /sys.
	Devpath string
	// Vars are the variables, such as SUBSYSTEM, MODALIAS, DEVNAME.
	Vars map[string]string
}

// Parse reads a message of the kernel: `add@/devices/…`, then NAME=value, each ended by a NUL.
func Parse(message []byte) (Event, error) {
	fields := bytes.Split(bytes.TrimSuffix(message, []byte{0}), []byte{0})

	action, path, ok := strings.Cut(string(fields[0]), "@")
	if !ok || action == "" || !strings.HasPrefix(path, "/") {
		return Event{}, fmt.Errorf("device event %q: want action@/path", fields[0])
	}

	e := Event{Action: Action(action), Devpath: path, Vars: make(map[string]string, len(fields)-1)}

	for _, f := range fields[1:] {
		name, value, ok := strings.Cut(string(f), "=")
		if !ok || name == "" {
			return Event{}, fmt.Errorf("device event %s: variable %q: want NAME=value", fields[0], f)
		}

		e.Vars[name] = value
	}

	return e, nil
}

// Kernel's multicast group; group 2 is udev's, which anyone may send to.
const kernelGroup = 1

// Listen calls handle for every event until the context ends. It calls started once the socket listens, so
// that a look at sysfs after that misses nothing.
func Listen(ctx context.Context, started func(), handle func(Event)) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return fmt.Errorf("device events: socket: %w", err)
	}

	// A file makes the read end when it is closed.
	f := os.NewFile(uintptr(fd), "uevent")
	defer f.Close()

	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		return fmt.Errorf("device events: bind: %w", err)
	}

	// A coldplug brings thousands at once; failure leaves the default size, which overruns sooner.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20)

	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("device events: %w", err)
	}

	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	defer stop()

	if started != nil {
		started()
	}

	buf := make([]byte, 64<<10)

	for {
		n, from, err := receive(raw, buf)

		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS):
			handle(Event{Action: Overrun})
		case err != nil:
			return fmt.Errorf("device events: read: %w", err)
		case !isKernel(from):
		default:
			if e, err := Parse(buf[:n]); err == nil {
				handle(e)
			}
		}
	}
}

// receive waits for a message, and returns its sender too.
func receive(raw syscall.RawConn, buf []byte) (n int, from unix.Sockaddr, err error) {
	read := func(fd uintptr) bool {
		for {
			n, from, err = unix.Recvfrom(int(fd), buf, 0)
			if !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN)
			}
		}
	}

	if closed := raw.Read(read); closed != nil {
		return 0, nil, closed
	}

	return n, from, err
}

// isKernel reports whether a message is the kernel's. Whoever has CAP_NET_ADMIN in the network namespace, a pod of the host's
// network too, may send to the group, or to the socket alone; the kernel has port 0.
func isKernel(from unix.Sockaddr) bool {
	address, ok := from.(*unix.SockaddrNetlink)

	return ok && address.Pid == 0
}
