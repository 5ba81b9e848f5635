// SPDX-License-Identifier: Apache-2.0

// Package ethtooltest has network cards in memory, for tests. Like drivers they refuse settings that they do not have, and numbers above
// the largest.
package ethtooltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/ethtool"
)

// Cards are network cards by their names. The zero value has none.
type Cards struct {
	mu      sync.Mutex
	cards   map[string]ethtool.Settings
	watches []func()
	sets    int
}

var _ ethtool.Cards = (*Cards)(nil)

// Plug adds a card.
func (c *Cards) Plug(link string, s ethtool.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.cards == nil {
		c.cards = map[string]ethtool.Settings{}
	}

	c.cards[link] = clone(s)
	c.wake()
}

// Sets returns how many changes were made.
func (c *Cards) Sets() int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.sets
}

// Read implements ethtool.Cards.
func (c *Cards) Read(link string) (ethtool.Settings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	s, ok := c.cards[link]
	if !ok {
		return s, fmt.Errorf("read link %s: %w", link, unix.ENODEV)
	}

	return clone(s), nil
}

// Set implements ethtool.Cards.
func (c *Cards) Set(link string, change ethtool.Settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	s, ok := c.cards[link]
	if !ok {
		return fmt.Errorf("set link %s: %w", link, unix.ENODEV)
	}

	s = clone(s)

	if err := numbers(s.Rings, change.Rings); err != nil {
		return fmt.Errorf("set rings of link %s: %w", link, err)
	}

	if err := numbers(s.Channels, change.Channels); err != nil {
		return fmt.Errorf("set channels of link %s: %w", link, err)
	}

	for name, on := range change.Features {
		if _, ok := s.Features[name]; !ok {
			return fmt.Errorf("set features of link %s: %w", link, unix.EOPNOTSUPP)
		}

		if !s.Fixed[name] { // as it is, without an error
			s.Features[name] = on
		}
	}

	if change.Wake != nil {
		if s.Wake == nil {
			return fmt.Errorf("set wake-on-LAN of link %s: %w", link, unix.EOPNOTSUPP)
		}

		s.Wake = change.Wake
	}

	c.cards[link] = s
	c.sets++
	c.wake()

	return nil
}

func numbers(have, want map[string]uint32) error {
	for name, v := range want {
		if _, ok := have[name]; !ok {
			return unix.EOPNOTSUPP
		}

		if most, ok := have[name+"-max"]; ok && v > most {
			return unix.EINVAL
		}

		have[name] = v
	}

	return nil
}

// Watch implements ethtool.Cards.
func (c *Cards) Watch(ctx context.Context, changed func()) error {
	c.mu.Lock()
	c.watches = append(c.watches, changed)
	c.mu.Unlock()

	changed()
	<-ctx.Done()

	return nil
}

func (c *Cards) wake() {
	for _, changed := range c.watches {
		changed()
	}
}

func clone(s ethtool.Settings) ethtool.Settings {
	s.Rings, s.Channels, s.Features, s.Fixed = maps.Clone(s.Rings), maps.Clone(s.Channels), maps.Clone(s.Features), maps.Clone(s.Fixed)
	s.OurModes, s.PeerModes = slices.Clone(s.OurModes), slices.Clone(s.PeerModes)

	return s
}
