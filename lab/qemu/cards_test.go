// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/lab/machine"
)

// TestPlug plugs and unplugs cards of a machine without a system. A reset releases a card here, in place of a guest.
func TestPlug(t *testing.T) {
	m := newMachine(t, func(c *Config) {
		for i := range byte(2) {
			c.Cards = append(c.Cards, machine.Card{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 1, i}, Unplugged: i == 1})
		}
	})

	connected, lost := make(chan int, 10), make(chan int, 10)
	m.plug = func(card int, conn net.Conn) {
		connected <- card

		go func() {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()

			lost <- card
		}()
	}
	must := func(err error) {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}
	}
	next := func(what string, c chan int, want ...int) {
		t.Helper()

		var got []int

		for range want {
			select {
			case card := <-c:
				got = append(got, card)
			case <-time.After(time.Minute):
			}
		}

		slices.Sort(got)

		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("cards %s (-want +got):\n%s", what, d)
		}
	}

	must(m.On(t.Context()))
	next("connected at power-on", connected, 0, 1)

	if err := m.Plug(t.Context(), 0); !errors.Is(err, machine.ErrPlugged) {
		t.Errorf("plug a card that is plugged in: got %v, want %v", err, machine.ErrPlugged)
	}

	if err := m.Unplug(t.Context(), 2); !errors.Is(err, machine.ErrUnplugged) {
		t.Errorf("unplug a card that is not plugged in: got %v, want %v", err, machine.ErrUnplugged)
	}

	if err := m.Plug(t.Context(), 3); err == nil {
		t.Error("a card that the machine does not have was plugged in")
	}

	must(m.Plug(t.Context(), 2))
	next("connected by plugging", connected, 2)

	impatient, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	if err := m.Unplug(impatient, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("unplug without a system: got %v, want %v", err, context.DeadlineExceeded)
	}

	must(m.Reset(t.Context()))

	for deadline := time.Now().Add(time.Minute); m.Status().Boots < 2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}

	must(m.Unplug(t.Context(), 1))
	next("lost", lost, 1)

	m.Cut()
	next("lost with the power", lost, 0, 2)

	must(m.Unplug(t.Context(), 0))
	must(m.On(t.Context()))
	next("connected at the second power-on", connected, 2)
}
