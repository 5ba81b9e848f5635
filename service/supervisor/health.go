// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

func (u *unit) checkHealth(ctx context.Context, pid int, h Health, hung context.CancelCauseFunc) {
	wait := h.InitialDelay
	failed, was := 0, false

	var healthy usage // after the last check that found the service live

	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		live, err := u.ask(ctx, h)

		if ctx.Err() != nil {
			return
		}

		st := HealthStatus{Known: true, Healthy: err == nil}
		if err != nil {
			st.LastMessage = err.Error()
		}

		u.setHealth(st)

		if failed++; live {
			failed, was, healthy = 0, true, usageOf(pid)
		}

		if was && h.Failures > 0 && failed >= h.Failures && (failed >= slowFactor*h.Failures || !usageOf(pid).busySince(healthy)) {
			hung(fmt.Errorf("%w: %d health checks failed in a row, the last with: %w", ErrHung, failed, err))

			return
		}

		// An unhealthy service is checked more often, so that the services that depend on it start soon after it is up.
		wait = h.Period
		if err != nil {
			wait = min(h.Period, 500*time.Millisecond)
		}
	}
}

// ask makes one health check. It reports whether the service is live: with Live, a service that is not healthy may be.
func (u *unit) ask(ctx context.Context, h Health) (live bool, err error) {
	one := func(check func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, h.Timeout)
		defer cancel()

		err := guard.Call(func() error { return check(ctx) })

		if panicked := (*guard.Panic)(nil); errors.As(err, &panicked) {
			u.sup.log.Error("health check panicked", "service", u.id, "error", err)
			err = fmt.Errorf("panic: %v", panicked.Value)
		}

		return err
	}

	if h.Live == nil {
		err = one(h.Check)

		return err == nil, err
	}

	if err = one(h.Live); err != nil {
		return false, err
	}

	return true, one(h.Check)
}

func (u *unit) setHealth(h HealthStatus) {
	u.mu.Lock()

	old := u.st.Health
	if old.Known == h.Known && old.Healthy == h.Healthy && old.LastMessage == h.LastMessage {
		u.mu.Unlock()

		return
	}

	h.LastChange = time.Now()
	u.st.Health = h

	if h.Known && (!old.Known || old.Healthy != h.Healthy) {
		message := "Health check successful"
		if !h.Healthy {
			message = "Health check failed: " + h.LastMessage
		}

		u.st.Events = append(u.st.Events, Event{Time: h.LastChange, State: u.st.State, Message: message})
	}
	u.mu.Unlock()

	u.sup.notify(u.status())
}
