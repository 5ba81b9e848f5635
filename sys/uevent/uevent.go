// SPDX-License-Identifier: Apache-2.0

// Package uevent listens to the kernel's device events (netlink's kobject family): a device was added, changed or removed. The kernel drops
// events if the reader is slow. Listen reports that with an Event of action Overrun, after which the reader must read sysfs again.
package uevent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"
)

// Action is what happened to a device.
type Action string

// The actions that are used here; the kernel has more (move, bind, unbind, online, offline).
const (
	Add    Action = "add"
	Remove Action = "remove"
	Change Action = "change"
	// Overrun is not the kernel's: it means that events were lost.
	Overrun Action = "overrun"
)

// Event is a message of the kernel.
type Event struct {
	Action Action
	// Devpath is the device's path below /sys.
	Devpath string
	// Vars are the variables, such as SUBSYSTEM, MODALIAS, DEVNAME.
	Vars map[string]string
}

// Synthetic reports whether the event was requested by a write to the file uevent of a device: the device is not new.
func (e Event) Synthetic() bool {
	_, requested := e.Vars["SYNTH_UUID"]

	return requested
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

// Listen calls handle for every event until the context ends. It calls started when the socket listens, so that a read of sysfs after that
// misses nothing.
func Listen(ctx context.Context, started func(), handle func(Event)) error {
	conn, err := socket.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT, "uevent", nil)
	if err != nil {
		return fmt.Errorf("device events: %w", err)
	}
	defer conn.Close()

	if err := conn.Bind(&unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}); err != nil {
		return fmt.Errorf("device events: %w", err)
	}

	// A coldplug causes thousands of events at once. On an error the buffer keeps its default size, which overruns sooner.
	_ = conn.SetReadBuffer(4 << 20)

	if started != nil {
		started()
	}

	buf := make([]byte, 64<<10)

	for {
		n, from, err := conn.Recvfrom(ctx, buf, 0)

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

// isKernel reports whether the kernel sent a message: it has port 0. A process with CAP_NET_ADMIN in the network namespace, such as a pod on
// the host's network, may also send to the group or to the socket.
func isKernel(from unix.Sockaddr) bool {
	address, ok := from.(*unix.SockaddrNetlink)

	return ok && address.Pid == 0
}
