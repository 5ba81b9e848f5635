// SPDX-License-Identifier: Apache-2.0

//go:build linux

package acpi

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
)

// message returns a message of the kernel.
func message(t testing.TB, kind uint16, class, bus string, numbers ...uint32) []byte {
	t.Helper()

	b := make([]byte, eventSize-8)
	copy(b, class)
	copy(b[classSize:], bus)

	for _, n := range numbers {
		b = binary.NativeEndian.AppendUint32(b, n)
	}

	data, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: kind, Data: b}})
	if err != nil {
		t.Fatal(err)
	}

	return data
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want Event
		err  string
	}{
		{"the power button", message(t, 1, PowerButton, "PNP0C0C:00", PowerPressed, 3), Event{PowerButton, "PNP0C0C:00", PowerPressed, 3}, ""},
		{"a name without an end", message(t, 1, strings.Repeat("x", classSize), "", 1, 2), Event{strings.Repeat("x", classSize), "", 1, 2}, ""},
		{"another attribute", message(t, 2, PowerButton, "", PowerPressed, 0), Event{}, "has no event"},
		{"too short", message(t, 1, PowerButton, "", PowerPressed), Event{}, "got 40 bytes, want 44"},
		{"nothing", nil, Event{}, "has no event"},
		{"damaged", []byte{255, 255, 1, 0, 0}, Event{}, "ACPI event"},
	} {
		got, err := Parse(tt.data)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %+v, %v, want %+v, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(message(f, 1, PowerButton, "PNP0C0C:00", PowerPressed, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := Parse(data); err == nil && (len(e.Class) > classSize || len(e.Bus) > busSize) {
			t.Errorf("got %+v", e)
		}
	})
}

// TestListen: Listen ends with its context on a kernel with ACPI, and returns ErrNoACPI on one without.
func TestListen(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()

	if err := Listen(ctx, func(Event) {}); err != nil && !errors.Is(err, ErrNoACPI) {
		t.Error(err)
	}
}
