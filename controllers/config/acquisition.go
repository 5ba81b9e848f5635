// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/layout"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// acquisition is the state machine of the configuration: where it was found, whether one is on trial, and whether one is still to be
// stored. An event and the time go in, the next state and the actions come out; testdata/acquisition has scripts of both.
//
// Beside the disk, the sources before the platform's come first, then the platform's, which is asked until it answers, then those after
// it. The first configuration with a main document wins. Documents without one are in effect from when they are found, so that the
// network that they describe reaches the platform's; they become a part of the configuration that is found later. Each change of the network
// while the platform is asked causes the next attempt at once.
//
//	          found in STATE, or nowhere: open to everyone, or only to its administrators
//	searching ───────────────────────────────────────────────────────────────────────────▶ settled
//	    │                                                                                     ▲
//	    └─ found beside the disk ─▶ keeping ─ STATE has it ───────────────────────────────────┘
//
// A configuration that is applied over the API is stored and takes effect in any phase; on trial, it has effect until the
// trial is decided.
type acquisition struct {
	phase phase
	disk  diskState
	// waited is when the wait for STATE began, after META was read; overdue is set when STATE did not appear in time.
	waited  time.Time
	overdue bool
	// unusable is why no disk can be chosen for STATE, in the state ambiguous.
	unusable error
	// remote is set for a platform that has a source of its own.
	remote  bool
	sources progress
	// network describes the addresses, routes and name servers when they were last seen.
	network string
	// partial has the documents that were found without a main one, nil for none.
	partial *config.Config
	// informed is set when META was read while the platform is asked.
	informed bool
	// unkept is a configuration that was found beside the disk and is not in STATE yet.
	unkept *config.Config
	// closed is set when the machine had a configuration that cannot be read: it is not open to strangers.
	closed bool
	// access is what is known of the administrators of a closed machine.
	access *config.Config
	// unremembered is a stored configuration whose administrators are not in META yet; retry is the time of the next attempt.
	unremembered *config.Config
	retry        time.Time
	trial        *onTrial
	installation installation
}

// phase of an acquisition.
type phase uint8

const (
	searching phase = iota // it is not known whether the machine has a configuration
	keeping                // one was found that STATE does not have yet
	settled
)

// progress is how far the sources beside the disk were read.
type progress uint8

const (
	unread   progress = iota
	early             // those before the platform's were read
	asked             // the platform is being asked
	answered          // the platform has answered
	exhausted
)

// diskState is the state of the volume STATE.
type diskState uint8

const (
	absent    diskState = iota
	none                // no disk has the system
	ambiguous           // several disks have it, and none can be chosen: neither STATE nor META can be read
	blank               // it has no file system yet, so it is empty
	ready               // it is about to be mounted
	mounted
)

const (
	// latePatience is how long STATE may take to be mounted after META was read. Then the administrators that META knows are let in.
	// Replaying the log of a large file system takes less.
	latePatience = 20 * time.Second
	// metaRetry is the delay before a write to META is tried again.
	metaRetry = time.Minute
)

// next returns the state after an event, and the actions, to be carried out in order.
func (s acquisition) next(event any, now time.Time) (acquisition, []any) {
	var actions []any

	switch e := event.(type) {
	case seen:
		actions = s.look(e.diskState, now)
	case storeRead:
		actions = s.read(e)
	case sourcesRead:
		actions = s.found(e.cfg, e.partial)
	case platformAnswered:
		if s.phase == searching && s.sources == asked {
			s.sources = answered
			actions = s.found(e.cfg, e.partial)
		}
	case partApplied:
		s.partial = e.partial
		actions = []any{show{configres.ActiveID, e.partial}}
	case networkSeen:
		changed := s.network != e.text
		s.network = e.text

		if changed && s.sources == asked { // whatever the last attempt waits for
			actions = []any{askAgain{}}
		}
	case metaRead:
		actions = s.know(e, now)
	case remembered:
		actions = s.noteRemembered(e.err, now)
	case kept:
		cfg := s.unkept
		s.phase, s.unkept, s.trial = settled, nil, nil

		if s.installation.restart {
			actions = s.keptOnDisk(cfg)
		} else {
			s.installation = installation{}
			actions = s.stored(cfg)
		}
	case installRequested:
		actions = s.installRequested(e.cfg)
	case installOver:
		actions = s.installOver(e, now)
	case applied:
		s.trial = nil
		actions = s.stored(e.cfg)
	case staged: // a trial continues, and ends with the configuration that had effect before it
		s.unremembered = e.cfg
		actions = append([]any{remember(e), show{configres.PersistentID, e.cfg}}, s.endSearch()...)
	case tried:
		actions = s.try(e)
	case trialOver:
		actions = s.revert()
	case reverted:
		s.trial = nil
	}

	return s, actions
}

// coming reports whether STATE is about to be mounted. Configurations from the API wait for that.
func (s acquisition) coming() bool { return s.disk == blank || s.disk == ready && !s.overdue }

// look finds the first configuration, once the disk can be read, or STATE is known to be blank. Formatting STATE takes a while; a new
// machine is open before that.
func (s *acquisition) look(disk diskState, now time.Time) (actions []any) {
	if s.disk == none && disk != none || s.disk == ambiguous && disk != ambiguous && disk != none {
		actions = s.appeared()
	}

	s.disk = disk

	if s.unremembered != nil && !now.Before(s.retry) {
		actions = append(actions, remember{s.unremembered})
	}

	switch {
	case s.phase == keeping && disk == none:
		return append(actions, s.withoutDisk(now)...)
	case s.phase == keeping && disk == mounted && !s.installation.running:
		return append(actions, save{s.unkept}, then{kept{}})
	case s.phase != searching:
		return actions
	case disk == mounted:
		return append(actions, readStore{})
	case disk == ambiguous:
		return append(actions, slices.Concat(s.shut(fmt.Errorf("the stored configuration cannot be read: %w", s.unusable)), s.beside())...)
	case disk == blank || disk == none:
		return append(actions, s.beside()...)
	default:
		return append(actions, readMeta{})
	}
}

// read handles the content of STATE.
func (s *acquisition) read(e storeRead) (actions []any) {
	if e.cfg != nil {
		s.phase, s.unkept = settled, nil

		actions = []any{report{slog.LevelInfo, "the configuration was found", []any{"in", layout.PartitionState}}, saveAccess{e.cfg}}

		if e.instead != nil { // the boot begins with a trial
			s.trial, s.unremembered = &onTrial{e.cfg}, e.cfg

			return append(actions, show{configres.PersistentID, e.next()}, activate{e.instead}, remember{e.cfg})
		}

		return append(actions, s.stored(e.cfg)...)
	}

	if e.err != nil {
		s.access = e.access
		actions = s.shut(fmt.Errorf("the stored configuration cannot be used (it stays in STATE, unchanged): %w", e.err))
	}

	return append(actions, s.beside()...)
}

// beside continues without STATE, or with an empty one.
func (s *acquisition) beside() []any {
	switch {
	case s.unkept != nil && s.disk == mounted:
		s.phase = keeping

		return []any{save{s.unkept}, then{kept{}}}
	case s.unkept != nil && s.disk == none:
		s.phase = keeping

		return []any{then{seen{none}}}
	case s.unkept != nil && s.disk == ambiguous:
		s.phase = keeping

		return []any{activate{s.unkept}}
	case s.unkept != nil:
		s.phase = keeping

		return nil
	case s.sources == unread && s.remote:
		s.sources = early

		return []any{readSources{}}
	case s.sources == early:
		s.sources = asked

		return append([]any{askPlatform{}}, s.meanwhile()...)
	case s.sources == asked:
		return s.meanwhile()
	case s.sources == unread:
		s.sources = exhausted

		return []any{readSources{all: true}}
	case s.sources == answered:
		s.sources = exhausted

		return []any{readLate{}}
	case s.access == nil && s.disk != none:
		return []any{readMeta{}}
	default:
		return s.settle()
	}
}

// found handles what sources beside the disk have.
func (s *acquisition) found(cfg, partial *config.Config) (actions []any) {
	s.unkept = cfg

	if cfg == nil && partial != nil && partial != s.partial {
		s.partial = partial

		if s.trial == nil { // they take effect when the trial ends
			actions = []any{
				report{slog.LevelInfo, "documents were found that take effect now, and are a part of the configuration that is still to be found", nil},
				show{configres.ActiveID, partial},
			}
		}
	}

	return append(actions, s.beside()...)
}

// meanwhile lets in the administrators of a machine that had a configuration, while the platform is asked.
func (s *acquisition) meanwhile() []any {
	switch {
	case s.informed:
		return nil
	case s.access == nil:
		return []any{readMeta{}}
	default:
		s.informed = true

		return s.open()
	}
}

// know handles the content of META.
func (s *acquisition) know(e metaRead, now time.Time) (actions []any) {
	if s.disk == absent || s.disk == ready {
		return s.late(e, now)
	}

	switch {
	case !e.loaded && s.disk == ambiguous && s.sources == exhausted: // it is on the disks, too
		e.err = s.unusable

		return append(s.administrators(e), s.settle()...)
	case !e.loaded:
		return nil
	case s.sources == asked && s.informed:
		return nil
	case s.sources == asked:
		s.informed = true
		actions = s.administrators(e)

		if s.closed {
			actions = append(actions, s.open()...)
		}

		return actions
	default:
		return append(s.administrators(e), s.settle()...)
	}
}

// administrators handles what META knows of a machine whose STATE has no usable configuration.
func (s *acquisition) administrators(e metaRead) (actions []any) {
	if e.configured {
		actions = s.shut(errors.New("the stored configuration is missing"))
		s.access = e.access
	}

	if s.closed && e.access == nil {
		actions = append(actions, report{
			slog.LevelError, "the administrators are unknown: start with the kernel argument " + cmdline.ConfigInline +
				" to give the machine another configuration", []any{"error", e.err},
		})
	}

	return actions
}

// late lets in the administrators that META knows when STATE is not mounted in time, because it cannot be read or has lost its file
// system. STATE is used as soon as it is mounted.
func (s *acquisition) late(e metaRead, now time.Time) (actions []any) {
	if !e.configured || s.overdue {
		return nil
	}

	if s.waited.IsZero() {
		s.waited = now
		actions = append(actions, wake{latePatience})
	}

	if now.Sub(s.waited) < latePatience {
		return actions
	}

	s.overdue = true
	actions = s.shut(fmt.Errorf("STATE is not mounted: timed out after %s (see talosctl get volumestatus): the stored configuration cannot be read", latePatience))
	actions = append(actions, s.administrators(e)...)

	return append(actions, s.open()...)
}

// settle ends the search without a configuration.
func (s *acquisition) settle() (actions []any) {
	s.phase = settled

	if !s.closed {
		actions = append(actions, report{slog.LevelInfo, "there is no configuration: waiting for one over the API (talosctl apply-config --insecure)", nil})
	}

	return append(actions, s.open()...)
}

// shut keeps a machine that had a configuration closed to strangers. The stored configuration is left unchanged; the administrators may
// apply another one, or start a version of the system that can read it.
func (s *acquisition) shut(err error) []any {
	if s.closed {
		return nil
	}

	s.closed = true

	return []any{report{slog.LevelError, "no configuration: the machine is open to its administrators alone", []any{"error", err}}, fail{err}}
}

// open admits the clients of a machine without a configuration: everyone, or, if there was a configuration, its administrators.
func (s *acquisition) open() []any {
	switch {
	case s.access != nil:
		return []any{show{configres.AccessID, s.access}}
	case s.closed:
		return nil
	default:
		return []any{admitAll{}}
	}
}

// stored puts a configuration in effect that is in STATE.
func (s *acquisition) stored(cfg *config.Config) []any {
	s.closed, s.access, s.unremembered, s.partial = false, nil, cfg, nil

	return append([]any{show{configres.PersistentID, cfg}, activate{cfg}, remember{cfg}}, s.endSearch()...)
}

// endSearch stops asking the platform: the administrators have stored a configuration meanwhile.
func (s *acquisition) endSearch() []any {
	if s.sources != asked {
		return nil
	}

	s.sources, s.phase = exhausted, settled

	return []any{stopPlatform{}}
}

// noteRemembered handles the result of writing the administrators of a stored configuration to META. A failed write is tried again
// later. An error of META prevents no change of the configuration.
func (s *acquisition) noteRemembered(err error, now time.Time) []any {
	switch {
	case err == nil:
		s.unremembered = nil

		return nil
	case errors.Is(err, metactl.ErrNotLoaded): // an event comes when it is
		return nil
	}

	actions := []any{report{
		slog.LevelError, "META does not have the authorities of the administrators: if STATE were damaged now, the previous ones would be let in, or no one",
		[]any{"error", err},
	}}

	if !now.Before(s.retry) {
		s.retry = now.Add(metaRetry)
		actions = append(actions, wake{metaRetry})
	}

	return actions
}
