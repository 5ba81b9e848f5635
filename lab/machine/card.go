// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"net"
)

// Card is a network card. It keeps its slot, so that a guest knows it again.
type Card struct {
	MAC net.HardwareAddr
	// Unplugged cards are not there when the machine is switched on.
	Unplugged bool
}

// ChangeCard plugs or unplugs one of a machine's cards: it calls do, and then updates cards.
func ChangeCard(name string, cards []Card, card int, unplugged bool, do func() error) (err error) {
	op, already := "plug card %d into %s", ErrPlugged
	if unplugged {
		op, already = "unplug card %d of %s", ErrUnplugged
	}

	switch {
	case card < 0 || card >= len(cards):
		err = fmt.Errorf("the machine has %d cards, counted from 0", len(cards))
	case cards[card].Unplugged == unplugged:
		err = already
	default:
		err = do()
	}

	if err != nil {
		return fmt.Errorf(op+": %w", card, name, err)
	}

	cards[card].Unplugged = unplugged

	return nil
}
