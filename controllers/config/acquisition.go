// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/layout"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// acquisition is the state machine of the configuration: where it is found, what is in effect, on trial and yet to be stored. An
// event and the time go in, the next state and the actions come out; testdata/acquisition has scripts of both.
//
//	          found in STATE, or nowhere: open to all, or closed but to its administrators
//	searching ───────────────────────────────────────────────────────────────────────────▶ settled
//	    │                                                                                     ▲
//	    └─ found beside the disk ─▶ keeping ─ STATE has it ───────────────────────────────────┘
//
// One that is applied over the API is stored, and in effect, in any phase; on trial, it is in effect until the trial is over.
type acquisition struct {
	phase phase
	disk  diskState
	// waited is when the wait for STATE began, after META was read; overdue is set when STATE did not appear in time.
	waited  time.Time
	overdue bool
	// sourced is set when the places beside the disk were asked.
	sourced bool
	// unkept is a configuration that was found beside the disk, until STATE has it.
	unkept *config.Config
	// closed is set when the machine had a configuration that cannot be had: it is not open to strangers.
	closed bool
	// access is what is known of its administrators then.
	access *config.Config
	// unremembered is a stored configuration whose administrators META does not know yet, retry when that is tried again.
	unremembered *config.Config
	retry        time.Time
	trial        *trial
}

// phase of an acquisition.
type phase uint8

const (
	searching phase = iota // it is not known whether the machine has a configuration
	keeping                // one was found that STATE does not have yet
	settled
)

// diskState is how far STATE is.
type diskState uint8

const (
	absent diskState = iota
	blank            // it has no file system yet: nothing is in it
	ready            // it is about to be mounted
	mounted
)

// trial is a configuration in effect for a time. It ends with what was in effect before, which need not be what is stored: that
// may be staged for the next boot.
type trial struct {
	ends time.Time
	// before is nil for a machine that had none.
	before *config.Config
}

const (
	// latePatience is how long STATE may take to be mounted after META was read, before the administrators are let in by what META
	// knows. The log of a large file system is replayed in less.
	latePatience = 20 * time.Second
	// metaRetry is when a write to META is tried again.
	metaRetry = time.Minute
)

// The events.
type (
	seen      struct{ diskState } // at each change of what is around
	storeRead struct {
		cfg, access *config.Config
		err         error
	}
	sourcesRead struct{ cfg *config.Config } // nil for none
	metaRead    struct {
		access *config.Config
		// configured is whether the machine had a configuration, as far as META tells; loaded, whether META was read at all.
		configured, loaded bool
		err                error
	}
	remembered struct{ err error }
	kept       struct{}                     // STATE has what was found beside the disk
	applied    struct{ cfg *config.Config } // STATE has one that is to be in effect now
	staged     struct{ cfg *config.Config } // STATE has one for the next boot
	tried      struct {
		cfg, before *config.Config
		wait        time.Duration
	}
	trialOver struct{}
	reverted  struct{}
)

// The actions. One that fails ends them: what has not come true by then is no event.
type (
	readStore   struct{}
	readSources struct{}
	readMeta    struct{}
	// save stores a configuration, saveAccess what the API is reached by.
	save       struct{ cfg *config.Config }
	saveAccess struct{ cfg *config.Config }
	remember   struct{ cfg *config.Config }
	// show publishes a configuration under an id, activate has it take effect; deactivate is that there is none any more.
	show struct {
		id  string
		cfg *config.Config
	}
	activate   struct{ cfg *config.Config }
	deactivate struct{}
	// admitAll opens the machine to all the world.
	admitAll struct{}
	// fail tells that a configuration cannot be used.
	fail   struct{ err error }
	wake   struct{ after time.Duration }
	report struct {
		level slog.Level
		text  string
		args  []any
	}
	// then is an event: all actions before it were carried out.
	then struct{ event any }
)

// next is what an event leads to: the actions are to be carried out in their order.
func (s acquisition) next(event any, now time.Time) (acquisition, []any) {
	var actions []any

	switch e := event.(type) {
	case seen:
		actions = s.look(e.diskState, now)
	case storeRead:
		actions = s.read(e)
	case sourcesRead:
		s.unkept = e.cfg
		actions = s.beside()
	case metaRead:
		actions = s.know(e, now)
	case remembered:
		actions = s.noteRemembered(e.err, now)
	case kept:
		cfg := s.unkept
		s.phase, s.unkept = settled, nil
		actions = s.stored(cfg)
	case applied:
		s.trial = nil
		actions = s.stored(e.cfg)
	case staged: // a trial goes on, and ends with what was in effect before it
		s.unremembered = e.cfg
		actions = []any{remember(e), show{configres.PersistentID, e.cfg}}
	case tried:
		actions = s.try(e, now)
	case trialOver:
		actions = s.revert()
	case reverted:
		s.trial = nil
	}

	return s, actions
}

// coming reports whether STATE is about to be mounted: what is to be stored waits for it.
func (s acquisition) coming() bool { return s.disk == blank || s.disk == ready && !s.overdue }

// look finds the first configuration: once the disk can be read, or is known to hold none, since STATE has yet to get
// its file system. That takes a while, in which a new machine can be talked to already.
func (s *acquisition) look(disk diskState, now time.Time) (actions []any) {
	s.disk = disk

	if s.unremembered != nil && !now.Before(s.retry) {
		actions = append(actions, remember{s.unremembered})
	}

	switch {
	case s.phase == keeping && disk == mounted:
		return append(actions, save{s.unkept}, then{kept{}})
	case s.phase != searching:
		return actions
	case disk == mounted:
		return append(actions, readStore{})
	case disk == blank:
		return append(actions, s.beside()...)
	default:
		return append(actions, readMeta{})
	}
}

// read takes what STATE has.
func (s *acquisition) read(e storeRead) (actions []any) {
	if e.cfg != nil {
		s.phase = settled

		return append([]any{report{slog.LevelInfo, "the configuration was found", []any{"in", layout.PartitionState}}, saveAccess{e.cfg}}, s.stored(e.cfg)...)
	}

	if e.err != nil {
		s.access = e.access
		actions = s.shut(fmt.Errorf("the stored configuration cannot be used (it is left as it is, in STATE): %w", e.err))
	}

	return append(actions, s.beside()...)
}

// beside goes on without STATE, or with one that has nothing.
func (s *acquisition) beside() []any {
	switch {
	case !s.sourced:
		s.sourced = true

		return []any{readSources{}}
	case s.unkept != nil && s.disk == mounted:
		s.phase = keeping

		return []any{save{s.unkept}, then{kept{}}}
	case s.unkept != nil:
		s.phase = keeping

		return nil
	case s.access == nil:
		return []any{readMeta{}}
	default:
		return s.settle()
	}
}

// know takes what META knows.
func (s *acquisition) know(e metaRead, now time.Time) (actions []any) {
	if s.disk == absent || s.disk == ready {
		return s.late(e, now)
	}

	if !e.loaded {
		return nil
	}

	return append(s.administrators(e), s.settle()...)
}

// administrators takes what META knows of a machine whose STATE has nothing, or nothing that can be used.
func (s *acquisition) administrators(e metaRead) (actions []any) {
	if e.configured {
		actions = s.shut(errors.New("the stored configuration is gone"))
		s.access = e.access
	}

	if s.closed && e.access == nil {
		actions = append(actions, report{
			slog.LevelError, "it is not known who the administrators are: start with the kernel argument " + cmdline.ConfigInline +
				" to give the machine another configuration", []any{"error", e.err},
		})
	}

	return actions
}

// late lets the administrators in whom META knows when STATE does not come: it cannot be read, or is no file system any more. It
// is used as soon as it comes.
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
	actions = s.shut(fmt.Errorf("STATE was not mounted in %s (talosctl get volumestatus tells why): the stored configuration cannot be read", latePatience))
	actions = append(actions, s.administrators(e)...)

	return append(actions, s.open()...)
}

// settle is that there is no configuration.
func (s *acquisition) settle() (actions []any) {
	s.phase = settled

	if !s.closed {
		actions = append(actions, report{slog.LevelInfo, "there is no configuration: waiting for one over the API (talosctl apply-config --insecure)", nil})
	}

	return append(actions, s.open()...)
}

// shut keeps the machine closed to strangers: it had a configuration. That stays where it is, and the administrators may apply
// another, or start a version of the system that can read it.
func (s *acquisition) shut(err error) []any {
	if s.closed {
		return nil
	}

	s.closed = true

	return []any{report{slog.LevelError, "no configuration: the machine is open to its administrators alone", []any{"error", err}}, fail{err}}
}

// open lets in whoever may reach a machine without a configuration: all the world, or, if there was one, its administrators.
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

// stored puts a configuration in effect that STATE has.
func (s *acquisition) stored(cfg *config.Config) []any {
	s.closed, s.access, s.unremembered = false, nil, cfg

	return []any{show{configres.PersistentID, cfg}, activate{cfg}, remember{cfg}}
}

// noteRemembered is what became of an attempt to have META know the administrators of a stored configuration; what is to be
// remembered waits until META takes it. An error of META keeps nobody from changing the configuration.
func (s *acquisition) noteRemembered(err error, now time.Time) []any {
	switch {
	case err == nil:
		s.unremembered = nil

		return nil
	case errors.Is(err, metactl.ErrNotLoaded): // an event comes when it is
		return nil
	}

	actions := []any{report{
		slog.LevelError, "META does not have the authorities of the administrators: if STATE were damaged now, those before would be let in, or no one",
		[]any{"error", err},
	}}

	if !now.Before(s.retry) {
		s.retry = now.Add(metaRetry)
		actions = append(actions, wake{metaRetry})
	}

	return actions
}

// try puts a configuration in effect for a time. A trial of a trial ends where the first one began. It has begun before anything
// changes: what fails halfway is taken back too.
func (s *acquisition) try(e tried, now time.Time) []any {
	before := e.before
	if s.trial != nil {
		before = s.trial.before
	}

	s.trial = &trial{ends: now.Add(e.wait), before: before}

	return []any{activate{e.cfg}}
}

// revert ends a trial. It is over only when that has been done: after an error it is tried again.
func (s *acquisition) revert() []any {
	if s.trial.before != nil {
		return []any{report{slog.LevelWarn, "the trial is over: going back to the configuration before it", nil}, activate{s.trial.before}, then{reverted{}}}
	}

	actions := append([]any{report{slog.LevelWarn, "the trial is over and there was no configuration before it", nil}}, s.open()...)

	return append(actions, deactivate{}, then{reverted{}})
}
