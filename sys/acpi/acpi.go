// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package acpi listens to events of the firmware, mainly of buttons. The kernel sends them over generic netlink, in family acpi_event
// (drivers/acpi/event.c), after the driver of the device (button) is loaded.
//
// The same press is also an event of an input device. That would need one more driver, evdev, and a watch of all input devices.
package acpi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlinkgroup"
)

// PowerButton is the class of the device; PowerPressed is the type of its event.
const (
	PowerButton  = "button/power"
	PowerPressed = 0x80
)

// ErrNoACPI is the error on a computer without ACPI.
var ErrNoACPI = errors.New("the kernel has no ACPI")

// Event is an event of the firmware.
type Event struct {
	// Class is the class of the device, and Bus its name.
	Class, Bus string
	// Type and Data depend on the class.
	Type, Data uint32
}

// The family, its multicast group, and the attribute with struct acpi_genl_event.
const (
	family    = "acpi_event"
	group     = "acpi_mc_group"
	attribute = 1

	classSize, busSize = 20, 15
	// eventSize includes one byte that aligns the numbers.
	eventSize = classSize + busSize + 1 + 8
)

// Listen calls handle for every event until the context ends.
func Listen(ctx context.Context, handle func(Event)) error {
	id, err := groupID()
	if err == nil {
		err = netlinkgroup.Listener{Protocol: unix.NETLINK_GENERIC, Groups: []uint32{id}, Message: func(b []byte) {
			for outer := range netlinkgroup.Messages(b) {
				var m genetlink.Message
				if err := m.UnmarshalBinary(outer.Data); err != nil {
					continue
				}

				if e, err := Parse(m.Data); err == nil {
					handle(e)
				}
			}
		}}.Listen(ctx)
	}

	if err != nil {
		return fmt.Errorf("ACPI events: %w", err)
	}

	return nil
}

// groupID returns the number of the multicast group.
func groupID() (uint32, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return 0, err
	}
	defer conn.Close()

	events, err := conn.GetFamily(family)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoACPI
	}

	if err != nil {
		return 0, err
	}

	for _, g := range events.Groups {
		if g.Name == group {
			return g.ID, nil
		}
	}

	return 0, fmt.Errorf("family %s has no group %s", family, group)
}

// Parse reads the attributes of a message.
func Parse(data []byte) (Event, error) {
	attributes, err := netlink.UnmarshalAttributes(data)
	if err != nil {
		return Event{}, fmt.Errorf("ACPI event: %w", err)
	}

	for _, a := range attributes {
		if a.Type != attribute {
			continue
		}

		if len(a.Data) < eventSize {
			return Event{}, fmt.Errorf("ACPI event: got %d bytes, want %d", len(a.Data), eventSize)
		}

		numbers := a.Data[eventSize-8:]

		return Event{
			Class: unix.ByteSliceToString(a.Data[:classSize]), Bus: unix.ByteSliceToString(a.Data[classSize : classSize+busSize]),
			Type: binary.NativeEndian.Uint32(numbers), Data: binary.NativeEndian.Uint32(numbers[4:]),
		}, nil
	}

	return Event{}, errors.New("ACPI event: the message has no event")
}
