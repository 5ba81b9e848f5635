// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"os"

	"github.com/seed-59268b81/talos/lab/machine"
)

// insert creates a network card of a machine that boots or runs.
func (m *Machine) insert(b *boot, card int) error {
	tap, err := b.process.tap(card, m.cfg.Cards[card].MAC)
	if err != nil {
		return err
	}

	b.cards[card] = tap
	m.plug(card, tap)

	return nil
}

// Plug puts a network card into its slot. A machine that is off has it when it is switched on.
func (m *Machine) Plug(_ context.Context, card int) error { return m.change(card, false, m.insert) }

// Unplug takes a network card out of its slot.
func (m *Machine) Unplug(_ context.Context, card int) error {
	return m.change(card, true, func(b *boot, card int) error {
		// The device is removed with its descriptor.
		if err := b.cards[card].Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}

		delete(b.cards, card)

		return nil
	})
}

func (m *Machine) change(card int, unplugged bool, do func(*boot, int) error) error {
	m.button.Lock()
	defer m.button.Unlock()

	return machine.ChangeCard(m.cfg.Name, m.cfg.Cards, card, unplugged, func() error {
		r := m.run.Load()
		if r == nil {
			return nil
		}

		r.mu.Lock()
		defer r.mu.Unlock()

		if r.boot.ended { // the next boot has the card, or not
			return nil
		}

		return do(r.boot, card)
	})
}
