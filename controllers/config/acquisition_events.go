// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
)

// The events.
type (
	seen      struct{ diskState } // at each change of an input
	storeRead struct {
		cfg, access *config.Config
		err         error
		// instead is tried in this boot, in the place of cfg.
		instead *config.Config
		// confirm is set when that waits for a person.
		confirm bool
	}
	// sourcesRead is what was found before the platform is asked, or after it; platformAnswered is what the platform has. Either has a
	// complete configuration, or all documents without a main one that were found so far, or nothing new.
	sourcesRead      struct{ cfg, partial *config.Config }
	platformAnswered struct{ cfg, partial *config.Config }
	// partApplied has all documents without a main one, of which some came over the API.
	partApplied struct{ partial *config.Config }
	networkSeen struct{ text string } // with a text that changes with addresses, routes and name servers
	metaRead    struct {
		access *config.Config
		// configured is set when, according to META, the machine had a configuration; loaded, when META was read.
		configured, loaded bool
		err                error
	}
	remembered struct{ err error }
	kept       struct{}                     // STATE has the configuration that was found beside the disk
	applied    struct{ cfg *config.Config } // STATE has one that takes effect now
	staged     struct{ cfg *config.Config } // STATE has one for the next boot
	tried      struct{ cfg, before *config.Config }
	trialOver  struct{}
	reverted   struct{}
)

// next returns the configuration that the next boot begins with: the one on trial, unless that waits for a person.
func (e storeRead) next() *config.Config {
	if e.instead == nil || e.confirm {
		return e.cfg
	}

	return e.instead
}

// The actions. An action that fails ends the list: the events behind it do not happen.
type (
	readStore struct{}
	// readSources reads the sources before the platform's, or all where the platform has none; askPlatform asks the platform, and readLate
	// reads the sources after it. askAgain is for an attempt at once.
	readSources  struct{ all bool }
	askPlatform  struct{}
	askAgain     struct{}
	stopPlatform struct{}
	readLate     struct{}
	readMeta     struct{}
	// save stores a configuration, saveAccess only what the API needs of it.
	save       struct{ cfg *config.Config }
	saveAccess struct{ cfg *config.Config }
	remember   struct{ cfg *config.Config }
	// show publishes a configuration under an id, activate puts it in effect; deactivate removes the active one.
	show struct {
		id  string
		cfg *config.Config
	}
	activate   struct{ cfg *config.Config }
	deactivate struct{}
	// admitAll opens the machine to everyone.
	admitAll struct{}
	// fail reports that a configuration cannot be used.
	fail   struct{ err error }
	wake   struct{ after time.Duration }
	report struct {
		level slog.Level
		text  string
		args  []any
	}
	// then is an event that happens when all actions before it have succeeded.
	then struct{ event any }
)
