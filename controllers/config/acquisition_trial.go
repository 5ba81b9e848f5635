// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"log/slog"

	"github.com/seed-59268b81/talos/config"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// onTrial is a configuration that has effect until its trial is decided (trials.go). If it is reverted, the one that had effect before
// returns. That need not be the stored one, which may be staged for the next boot.
type onTrial struct {
	// before is nil for a machine that had none.
	before *config.Config
}

// try puts a configuration in effect until its trial is decided. A trial during a trial ends with what had effect before the first. The
// trial begins before the first change, so that a failed change is reverted, too.
func (s *acquisition) try(e tried) []any {
	before := e.before
	if s.trial != nil {
		before = s.trial.before
	}

	s.trial = &onTrial{before}

	return []any{activate{e.cfg}}
}

// revert ends a trial. After an error it is tried again.
func (s *acquisition) revert() []any {
	switch {
	case s.trial == nil: // a configuration was stored meanwhile
		return nil
	case s.trial.before != nil:
		return []any{report{slog.LevelWarn, "going back to the configuration before the trial", nil}, activate{s.trial.before}, then{reverted{}}}
	}

	actions := append([]any{report{slog.LevelWarn, "there was no configuration before the trial", nil}}, s.open()...)

	if s.partial != nil {
		return append(actions, show{configres.ActiveID, s.partial}, then{reverted{}})
	}

	return append(actions, deactivate{}, then{reverted{}})
}
