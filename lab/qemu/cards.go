// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
)

const (
	// firstSlot is the address of the first card's root port on the root bus, above those that QEMU assigns to other
	// devices.
	firstSlot = 0x10
	// releaseTime is how long a guest may take to release a card.
	releaseTime = 20 * time.Second
)

// plugged returns the numbers of the cards that are plugged in when the machine is switched on.
func (c *Config) plugged() []int {
	var cards []int

	for i, card := range c.Cards {
		if !card.Unplugged {
			cards = append(cards, i)
		}
	}

	return cards
}

// cardArgs returns the arguments for the slots of all cards, and for the cards that are plugged in. Only devices behind
// a root port can be plugged and unplugged.
func (c *Config) cardArgs() []string {
	var args []string

	for i := range c.Cards {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=%s,bus=pcie.0,chassis=%d,addr=%#x", slotID(i), i+1, firstSlot+i))
	}

	for fd, i := range c.plugged() {
		args = append(args,
			"-netdev", fmt.Sprintf("stream,id=%s,server=off,addr.type=fd,addr.str=%d", netID(i), fdCards+fd),
			"-device", fmt.Sprintf("virtio-net-pci,id=%s,bus=%s,netdev=%s,romfile=,mac=%s", cardID(i), slotID(i), netID(i), c.Cards[i].MAC))
	}

	return args
}

func slotID(card int) string { return "slot" + strconv.Itoa(card) }
func netID(card int) string  { return "net" + strconv.Itoa(card) }
func cardID(card int) string { return "card" + strconv.Itoa(card) }

// Plug puts a network card into its slot. A machine that is off has it when it is switched on.
func (m *Machine) Plug(ctx context.Context, card int) error {
	return m.change(card, false, func(r *run) error { return m.insert(ctx, r, card) })
}

// Unplug takes a network card out of its slot, as soon as the guest has released it.
func (m *Machine) Unplug(ctx context.Context, card int) error {
	return m.change(card, true, func(r *run) error { return m.release(ctx, r, card) })
}

func (m *Machine) change(card int, unplugged bool, do func(*run) error) error {
	m.button.Lock()
	defer m.button.Unlock()

	return machine.ChangeCard(m.cfg.Name, m.cfg.Cards, card, unplugged, func() error {
		if r := m.run.Load(); r != nil {
			return do(r)
		}

		return nil
	})
}

// insert makes QEMU connect a new card to a socket. A running QEMU 7.2 cannot use an inherited descriptor, as at its
// start: it looks for the descriptor in a thread that does not know those of the monitor.
func (m *Machine) insert(ctx context.Context, r *run, card int) error {
	dir, err := os.MkdirTemp("", "lab") // a short path, which no other user can enter
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	socket := filepath.Join(dir, netID(card))

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer l.Close()

	name := netID(card)
	if err := r.monitor.do(ctx, qmpCommand{Name: "netdev_add", Arguments: map[string]any{
		"type": "stream", "id": name, "server": false, "addr": map[string]string{"type": "unix", "path": socket},
	}}); err != nil {
		return err
	}

	disconnect := func(err error) error {
		return errors.Join(err, r.monitor.do(ctx, qmpCommand{Name: "netdev_del", Arguments: map[string]string{"id": name}}))
	}

	if err := l.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return disconnect(err)
	}

	conn, err := l.Accept()
	if err != nil {
		return disconnect(err)
	}

	if err := r.monitor.do(ctx, qmpCommand{Name: "device_add", Arguments: map[string]string{
		"driver": "virtio-net-pci", "id": cardID(card), "bus": slotID(card), "netdev": name, "romfile": "", "mac": m.cfg.Cards[card].MAC.String(),
	}}); err != nil {
		return disconnect(errors.Join(err, conn.Close()))
	}

	m.plug(card, conn) // which closes it when QEMU does

	return nil
}

func (m *Machine) release(ctx context.Context, r *run, card int) error {
	select {
	case <-r.released: // from a try that timed out
	default:
	}

	var refused *qmpError

	disconnect := qmpCommand{Name: "netdev_del", Arguments: map[string]string{"id": netID(card)}}
	err := r.monitor.do(ctx, qmpCommand{Name: "device_del", Arguments: map[string]string{"id": cardID(card)}})

	switch {
	case errors.As(err, &refused) && refused.Class == "DeviceNotFound": // it was released after an earlier try timed out
		return r.monitor.do(ctx, disconnect)
	case err != nil:
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()

	for {
		select {
		case device := <-r.released:
			if device == cardID(card) {
				return r.monitor.do(ctx, disconnect)
			}
		case <-r.off:
			return nil // a machine that is off has released it
		case <-ctx.Done():
			return fmt.Errorf("the guest has not released it (%w); it can when its kernel runs", ctx.Err())
		}
	}
}
