// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seed-59268b81/talos/cosi/guard"
)

func (u *unit) run(ctx context.Context, svc Service) (err error) {
	log := &lineWriter{sink: u.sup.logs, id: svc.ID}

	defer func() {
		log.Flush()

		// The log of a failed service may not be reachable.
		if last := log.Last(); err != nil && last != "" {
			err = fmt.Errorf("%w; its log ends: %s", err, last)
		}
	}()

	ctx, hung := context.WithCancelCause(ctx)
	defer hung(nil)

	healthCtx, stopHealth := context.WithCancel(ctx)

	var health guard.Group

	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			u.sup.log.Error("service panicked", "service", svc.ID, "panic", p, "stack", string(debug.Stack()))
		}

		stopHealth()
		_ = health.Wait()
		u.setHealth(HealthStatus{})
	}()

	u.set(StateStarting, "Starting service")

	noted := make(chan struct{})
	stopNote := context.AfterFunc(ctx, func() {
		u.set(StateStopping, "Sending stop signal")
		close(noted)
	})

	// The state Stopping must not follow a state from after the run.
	defer func() {
		if !stopNote() {
			<-noted
		}
	}()

	err = svc.Runner.Run(ctx, Run{
		ID:        svc.ID,
		Log:       log,
		Preparing: func(m string) { u.set(StatePreparing, m) },
		Started: func(pid int) {
			u.mu.Lock()
			u.st.PID = pid
			u.mu.Unlock()

			if pid > 0 {
				u.set(StateRunning, fmt.Sprintf("Started with PID %d", pid))
			} else {
				u.set(StateRunning, "Started")
			}

			if pid > 0 {
				health.Go(func() error { return watchStopped(healthCtx, pid, hung) })
			}

			if svc.Health != nil {
				health.Go(func() error { u.checkHealth(healthCtx, pid, svc.Health.withDefaults(), hung); return nil })
			}
		},
	})

	if cause := context.Cause(ctx); errors.Is(cause, ErrHung) {
		return cause
	}

	return err
}
