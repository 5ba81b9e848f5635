// SPDX-License-Identifier: Apache-2.0

// Package ethtool reads and changes settings of network cards: rings, channels, features and what wakes the machine up. It speaks the
// kernel's netlink protocol (ethtool-netlink), because the package for it (mdlayher/ethtool) has none of the first three, and the older
// ioctl has only some rings.
//
// A setting that a driver does not have is absent, and cannot be set.
package ethtool

import (
	"context"
	"maps"
)

// Cards are the network cards of a machine, or a fake of them.
type Cards interface {
	// Read returns the settings of a link.
	Read(link string) (Settings, error)
	// Set changes settings of a link.
	Set(link string, change Settings) error
	// Watch calls changed at first and after each change of settings, until the context ends.
	Watch(ctx context.Context, changed func()) error
}

// Settings of a link. As a change, they have only what changes.
type Settings struct {
	// Rings and Channels are numbers by their names, such as rx and combined; the largest possible ones as rx-max and combined-max. A
	// switch is 0 or 1, tcp-data-split 1 or 2.
	Rings, Channels map[string]uint32
	// Features are on or off, by the kernel's names.
	Features map[string]bool
	// Fixed are the features that cannot be changed.
	Fixed map[string]bool
	// Wake has the bits of what wakes up the machine (WAKE_*); nil if the card cannot do that.
	Wake *uint32
	// OurModes and PeerModes are the modes of the link that this end and the other one advertise, such as 1000baseT/Full, with pause frames
	// and the like, by the kernel's names and in its order. They cannot be set.
	OurModes, PeerModes []string
}

// Values of tcp-data-split.
const (
	SplitOff = 1
	SplitOn  = 2
)

// Empty reports whether a change changes nothing.
func (s Settings) Empty() bool {
	return len(s.Rings) == 0 && len(s.Channels) == 0 && len(s.Features) == 0 && s.Wake == nil
}

// Difference returns what must change for a link to have the wanted settings.
func Difference(have, want Settings) Settings {
	out := Settings{Rings: differing(have.Rings, want.Rings), Channels: differing(have.Channels, want.Channels), Features: differing(have.Features, want.Features)}

	if want.Wake != nil && (have.Wake == nil || *have.Wake != *want.Wake) {
		out.Wake = want.Wake
	}

	return out
}

func differing[V comparable](have, want map[string]V) map[string]V {
	out := maps.Clone(want)
	maps.DeleteFunc(out, func(name string, v V) bool {
		now, ok := have[name]

		return ok && now == v
	})

	return out
}

// Same returns, of some settings, those that a change names: what undoes it.
func (s Settings) Same(change Settings) Settings {
	out := Settings{Rings: named(s.Rings, change.Rings), Channels: named(s.Channels, change.Channels), Features: named(s.Features, change.Features)}
	if change.Wake != nil {
		out.Wake = s.Wake
	}

	return out
}

func named[V any](values, names map[string]V) map[string]V {
	out := maps.Clone(values)
	maps.DeleteFunc(out, func(name string, _ V) bool {
		_, ok := names[name]

		return !ok
	})

	return out
}

// Over returns settings of both; where both have one, the first.
func (s Settings) Over(others Settings) Settings {
	out := Settings{Rings: over(s.Rings, others.Rings), Channels: over(s.Channels, others.Channels), Features: over(s.Features, others.Features), Wake: others.Wake}
	if s.Wake != nil {
		out.Wake = s.Wake
	}

	return out
}

func over[V any](upper, lower map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, lower)
	maps.Copy(out, upper)

	return out
}
