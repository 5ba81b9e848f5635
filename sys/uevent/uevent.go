// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package uevent listens to the kernel's device events (netlink's kobject family): a device was added, changed or removed. The kernel drops
// events if the reader is slow. Listen reports that with an Event of action Overrun, after which the reader must read sysfs again.
package uevent

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlinkgroup"
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

// kernelGroup is the kernel's group; group 2 is udev's, which anyone may send to.
const kernelGroup = 1

// Listen calls handle for every event until the context ends. It calls started when the socket listens, so that a read of sysfs after that
// misses nothing.
func Listen(ctx context.Context, started func(), handle func(Event)) error {
	err := netlinkgroup.Listener{
		Protocol: unix.NETLINK_KOBJECT_UEVENT, Groups: []uint32{kernelGroup},
		Buffer:  4 << 20, // a coldplug causes thousands of events at once
		Started: started,
		Lost:    func() { handle(Event{Action: Overrun}) },
		Message: func(b []byte) {
			if e, err := Parse(b); err == nil {
				handle(e)
			}
		},
	}.Listen(ctx)
	if err != nil {
		return fmt.Errorf("device events: %w", err)
	}

	return nil
}
