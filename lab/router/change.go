// SPDX-License-Identifier: Apache-2.0

package router

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/lab/nat"
)

// SetNAT gives a leg another NAT, without the mappings of the old one, or none.
func (c *Core) SetNAT(name string, cfg *nat.Config) error {
	l, err := c.leg(name)
	if err != nil {
		return err
	}

	if cfg == nil {
		l.NAT, l.table = nil, nil

		return nil
	}

	next := l.Leg
	next.NAT = cfg

	if err := next.validate(); err != nil {
		return fmt.Errorf("leg %q: %w", name, err)
	}

	filled := *cfg
	filled.External = next.external()

	table, err := nat.New(filled)
	if err != nil {
		return fmt.Errorf("leg %q: NAT: %w", name, err)
	}

	l.NAT, l.table = &filled, table

	return nil
}

// SetBlockUDP blocks UDP on a leg, or lets it pass.
func (c *Core) SetBlockUDP(name string, block bool) error {
	l, err := c.leg(name)
	if err == nil {
		l.BlockUDP = block
	}

	return err
}

// SetSilentTooBig makes a leg a black hole for packets that are too big for it,
// or has their senders told.
func (c *Core) SetSilentTooBig(name string, silent bool) error {
	l, err := c.leg(name)
	if err == nil {
		l.SilentTooBig = silent
	}

	return err
}

// Mappings returns the mappings of a leg's NAT.
func (c *Core) Mappings(name string, now time.Time) ([]nat.Mapping, error) {
	l, err := c.leg(name)
	if err != nil || l.table == nil {
		return nil, err
	}

	return l.table.Mappings(now), nil
}

func (c *Core) leg(name string) (*leg, error) {
	for _, l := range c.legs {
		if l.Name == name {
			return l, nil
		}
	}

	return nil, fmt.Errorf("the router has no leg %q", name)
}
