// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/lab/machine"
)

// insert makes a network card of a machine that boots or runs.
func (m *Machine) insert(b *boot, card int) error {
	tap, err := b.process.tap(card, m.cfg.Cards[card].MAC)
	if err != nil {
		return err
	}

	b.cards[card] = tap
	m.plug(card, tap)

	return nil
}

// Plug puts a network card into its slot. A machine that is off has it when it
// is switched on.
func (m *Machine) Plug(_ context.Context, card int) error {
	err := m.change(card, false, machine.ErrPlugged, m.insert)
	if err != nil {
		return fmt.Errorf("plug card %d into %s: %w", card, m.cfg.Name, err)
	}

	return nil
}

// Unplug takes a network card out of its slot.
func (m *Machine) Unplug(_ context.Context, card int) error {
	err := m.change(card, true, machine.ErrUnplugged, func(b *boot, card int) error {
		// The device goes with its descriptor.
		if err := b.cards[card].Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}

		delete(b.cards, card)

		return nil
	})
	if err != nil {
		return fmt.Errorf("unplug card %d of %s: %w", card, m.cfg.Name, err)
	}

	return nil
}

func (m *Machine) change(card int, unplugged bool, already error, do func(*boot, int) error) error {
	m.button.Lock()
	defer m.button.Unlock()

	if card < 0 || card >= len(m.cfg.Cards) {
		return fmt.Errorf("the machine has %d cards, counted from 0", len(m.cfg.Cards))
	}

	if m.cfg.Cards[card].Unplugged == unplugged {
		return already
	}

	if r := m.current(); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()

		if r.boot.ended { // the next boot has the card, or not
			m.cfg.Cards[card].Unplugged = unplugged

			return nil
		}

		if err := do(r.boot, card); err != nil {
			return err
		}
	}

	m.cfg.Cards[card].Unplugged = unplugged

	return nil
}
