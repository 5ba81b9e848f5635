// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// installation is the part of an acquisition for a machine that is on no disk, such as one that was started from a CD. A configuration that is
// found or applied there has the system installed, and is stored when the new disk has STATE:
//
//	keeping ─ no disk ─▶ install ─ done ─▶ STATE is mounted ─▶ stored ─▶ restart, or in effect at once
//	                        └─ failed: found beside the disk: again after a while; applied: forgotten
//
// A disk that appears late has the say: the search begins again, so that a configuration on it is found.
type installation struct {
	// running is set while the system is installed, done when it was, and applied for a configuration that came over the API.
	running, done, applied bool
	// restart is set when the machine restarts from the disk.
	restart bool
	// again is the time of the next attempt.
	again time.Time
}

// installRetry is the delay before a failed installation is tried again.
const installRetry = time.Minute

// The events and actions of installations.
type (
	// installRequested is a configuration that was applied over the API and can be installed.
	installRequested struct{ cfg *config.Config }
	// installOver is the end of an installation.
	installOver struct {
		restart bool
		err     error
	}

	install struct{ cfg *config.Config }
	restart struct{}
	// admitNone closes the machine that was open to everyone.
	admitNone struct{}
)

// installRequested begins an installation. Its configuration takes the place of one that was found and could not be installed.
func (s *acquisition) installRequested(cfg *config.Config) []any {
	actions := s.endSearch()
	s.phase, s.unkept, s.installation = keeping, cfg, installation{running: true, applied: true}

	return append(actions, install{cfg})
}

// withoutDisk has a configuration installed that was found on a machine without a disk. Its administrators are let in meanwhile.
func (s *acquisition) withoutDisk(now time.Time) []any {
	if s.installation.running || s.installation.done || now.Before(s.installation.again) {
		return nil
	}

	s.installation.running = true

	return []any{show{configres.AccessID, s.unkept}, install{s.unkept}}
}

// appeared handles a disk with the system on a machine that seemed to have none, or too many. One that this boot installed to is expected.
func (s *acquisition) appeared() []any {
	if s.installation.running || s.installation.done || s.phase == searching {
		return nil
	}

	s.phase = searching

	return []any{report{slog.LevelWarn, "the disk with the system was found late: the search for the configuration begins again", nil}, admitNone{}}
}

// installOver handles the end of an installation.
func (s *acquisition) installOver(e installOver, now time.Time) []any {
	if e.err == nil {
		s.installation.running, s.installation.done, s.installation.restart = false, true, e.restart

		return []any{then{seen{s.disk}}}
	}

	wasApplied := s.installation.applied
	s.installation = installation{}

	switch {
	case wasApplied:
		s.phase, s.unkept = settled, nil
	default:
		s.installation.again = now.Add(installRetry)
	}

	if s.disk != none { // another disk appeared meanwhile
		return append(s.appeared(), then{seen{s.disk}})
	}

	if wasApplied {
		return nil
	}

	return []any{wake{installRetry}}
}

// keptOnDisk ends an installation: the new disk has the configuration.
func (s *acquisition) keptOnDisk(cfg *config.Config) []any {
	s.installation = installation{}

	return []any{show{configres.PersistentID, cfg}, remember{cfg}, restart{}}
}
