// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// maxEvents of a service's history that are kept.
const maxEvents = 32

// unit is one service and its loop.
type unit struct {
	sup *Supervisor
	id  string

	mu      sync.Mutex
	svc     Service
	st      Status
	cancel  context.CancelFunc // of the loop; nil when stopped
	done    chan struct{}      // closed when the loop has ended
	restart context.CancelFunc // of the current run
	// stopping is set while the loop is being stopped; again, if it is to start again after that; retired, if it must never start.
	stopping, again, retired bool
}

func newUnit(s *Supervisor, svc Service) *unit {
	return &unit{
		sup: s, id: svc.ID, svc: svc,
		st: Status{ID: svc.ID, State: StateInitialized, HasHealth: svc.Health != nil, Control: svc.Control},
	}
}

func (u *unit) service() Service {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.svc
}

func (u *unit) status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()

	st := u.st
	st.Events = slices.Clone(st.Events)

	return st
}

// start begins the loop unless it runs.
func (u *unit) start() {
	u.mu.Lock()
	defer u.mu.Unlock()

	if u.retired {
		return
	}

	if u.cancel != nil {
		u.again = u.stopping

		return
	}

	u.stopping = false

	ctx, cancel := context.WithCancel(u.sup.ctx)
	u.cancel = cancel
	u.done = make(chan struct{})

	done := u.done
	guard.Detach(u.sup.log, "service "+u.id, func() { u.loop(ctx, done) })
}

// replace sets a new description and ends the current run, so that the loop starts the service again.
func (u *unit) replace(svc Service) {
	u.mu.Lock()
	u.svc = svc
	u.st.HasHealth = svc.Health != nil
	u.st.Control = svc.Control
	restart := u.restart
	u.mu.Unlock()

	if restart != nil {
		restart()
	}
}

// retire prevents any later start.
func (u *unit) retire() {
	u.mu.Lock()
	defer u.mu.Unlock()

	u.retired = true
}

// stop ends the loop and waits for it.
func (u *unit) stop(ctx context.Context) error {
	u.mu.Lock()
	cancel, done := u.cancel, u.done
	u.stopping, u.again = cancel != nil, false
	u.mu.Unlock()

	if cancel == nil {
		return nil
	}

	cancel()

	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *unit) loop(ctx context.Context, done chan struct{}) {
	defer func() {
		u.mu.Lock()
		u.cancel, u.stopping = nil, false
		again := u.again
		u.again = false
		u.mu.Unlock()
		close(done)
		u.sup.notify(u.status())

		if again {
			_ = u.sup.start(u)
		}
	}()

	for {
		svc := u.service()

		if !u.waitForDependencies(ctx, svc) {
			u.set(StateFinished, "Service stopped before it was started")

			return
		}

		runCtx, cancel := context.WithCancel(ctx)

		u.mu.Lock()
		u.restart = cancel
		replaced := u.svc.Fingerprint != svc.Fingerprint
		u.mu.Unlock()

		if replaced {
			cancel()

			continue
		}

		err := u.run(runCtx, svc)
		asked := runCtx.Err() != nil

		cancel()

		if ctx.Err() != nil {
			u.set(StateFinished, "Service stopped")

			return
		}

		if asked {
			continue // replaced: start with the new description at once
		}

		if err == nil && svc.Once {
			u.set(StateFinished, "Service finished successfully")

			return
		}

		interval := cmp.Or(svc.RestartInterval, 5*time.Second)
		if err != nil {
			u.set(StateFailed, fmt.Sprintf("Failed, starting again in %s: %v", interval, err))
		} else {
			u.set(StateFailed, fmt.Sprintf("Ended, starting again in %s", interval))
		}

		select {
		case <-ctx.Done():
			u.set(StateFinished, "Service stopped")

			return
		case <-time.After(interval):
		}
	}
}

func (u *unit) waitForDependencies(ctx context.Context, svc Service) bool {
	var last string

	for {
		changed := u.sup.Changes()

		var missing []string

		for _, id := range svc.DependsOn {
			if st, ok := u.sup.Status(id); !ok || !st.Up() {
				missing = append(missing, fmt.Sprintf("service %q to be up", id))
			}
		}

		if len(missing) == 0 {
			return ctx.Err() == nil
		}

		if m := "Waiting for " + strings.Join(missing, ", "); m != last {
			last = m
			u.set(StateWaiting, m)
		}

		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

func (u *unit) set(state State, message string) {
	u.mu.Lock()

	if state != StateRunning && state != StateStopping {
		u.st.PID = 0
	}

	u.st.State = state
	u.st.Events = append(u.st.Events, Event{Time: time.Now(), State: state, Message: message})

	if len(u.st.Events) > maxEvents {
		u.st.Events = slices.Clone(u.st.Events[len(u.st.Events)-maxEvents:])
	}
	u.mu.Unlock()

	u.sup.log.Info("service", "id", u.id, "state", string(state), "message", message)
	u.sup.notify(u.status())
}
