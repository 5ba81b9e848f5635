// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package guestinfo reads the values that VMware's hypervisor passes to a machine, guestinfo.NAME. It is a Fetch of package cloud for URLs
// of the scheme guestinfo: guestinfo://talos.config.
//
// A machine asks the hypervisor through its backdoor: an instruction that reads an I/O port. The hypervisor permits it to programs; on any
// other computer it is a fault. So it is executed only if the processor and the firmware both name VMware (Check). A fault there is an error
// nevertheless: a setting of the virtual machine (monitor_control.restrict_backdoor) can forbid the backdoor.
package guestinfo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// Scheme of URLs.
const Scheme = "guestinfo"

// maxName is the length of a name; longer ones are never used.
const maxName = 128

// Reader asks the hypervisor. The zero Reader asks none.
type Reader struct {
	// one permits one request at a time.
	one sync.Mutex
	// ask sends a command and returns the answer.
	ask func(command string) ([]byte, error)
}

// New returns a Reader for a computer with this firmware. On one that is not VMware's, each request is an error.
func New(hw platform.Hardware) *Reader {
	if err := Check(hw); err != nil {
		return &Reader{ask: func(string) ([]byte, error) { return nil, err }}
	}

	return &Reader{ask: ask}
}

// Check returns an error unless the computer is a virtual machine of VMware.
func Check(hw platform.Hardware) error { return check(hw, processor()) }

// check decides by the firmware, and by whether the processor names VMware. A firmware that shows the vendor of the host
// (smbios.reflectHost) still has VMware's serial number.
func check(hw platform.Hardware, processor bool) error {
	const vendor, serial = "VMware, Inc.", "VMware-"

	switch {
	case !processor:
		return errors.New("the computer is not a virtual machine of VMware: its processor does not name that hypervisor")
	case hw.Vendor != vendor && !strings.HasPrefix(hw.Serial, serial):
		return fmt.Errorf("the computer is not a virtual machine of VMware: the vendor in its firmware is %q", hw.Vendor)
	default:
		return nil
	}
}

// Beginnings of answers: a value, or why there is none.
const (
	granted = "1 "
	refused = "0 "
)

// absent is the hypervisor's answer when it has no value of a name.
const absent = refused + "No value found"

// Fetch implements cloud.Fetch.
func (g *Reader) Fetch(_ context.Context, r cloud.Request) ([]byte, error) {
	name, ok := strings.CutPrefix(r.URL, Scheme+"://")
	if !ok || !valid(name) {
		return nil, fmt.Errorf("%q is not guestinfo://NAME", r.URL)
	}

	if g.ask == nil {
		return nil, errors.New("no hypervisor can be asked")
	}

	g.one.Lock()
	defer g.one.Unlock()

	answer, err := g.ask("info-get " + Scheme + "." + name)
	if err != nil {
		return nil, fmt.Errorf("ask the hypervisor for guestinfo.%s: %w", name, err)
	}

	value, ok := bytes.CutPrefix(answer, []byte(granted))

	switch {
	case ok:
		return value, nil
	case string(answer) == absent:
		return nil, cloud.ErrNotFound
	default:
		return nil, fmt.Errorf("ask the hypervisor for guestinfo.%s: it answered %.100q", name, bytes.TrimPrefix(answer, []byte(refused)))
	}
}

// valid reports whether a name is one word of letters, digits, dots and dashes: a command ends at a space.
func valid(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

	return name != "" && len(name) <= maxName && strings.Trim(name, letters) == ""
}
