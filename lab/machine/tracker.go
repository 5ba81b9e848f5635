// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"log/slog"
	"sync"
	"time"
)

// Tracker keeps the status of a machine and reports its changes.
type Tracker struct {
	log     *slog.Logger
	changed func(Status)

	mu     sync.Mutex // guards status
	status Status
}

// NewTracker returns the tracker of a machine that is off. Changed, if not nil, is called after each change.
func NewTracker(log *slog.Logger, changed func(Status)) *Tracker {
	return &Tracker{log: log, changed: changed, status: Status{Power: Off, Why: "never switched on", Since: time.Now()}}
}

// Status returns the status of the machine.
func (t *Tracker) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.status
}

// Update changes the status and reports it.
func (t *Tracker) Update(edit func(*Status)) {
	t.mu.Lock()
	edit(&t.status)
	t.status.Since = time.Now()
	s := t.status
	t.mu.Unlock()

	t.log.Info("machine", "power", s.Power, "why", s.Why, "boots", s.Boots, "pid", s.PID)

	if t.changed != nil {
		t.changed(s)
	}
}
