// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
	restart context.CancelFunc // of the present run
	// stopping is set while the loop is being stopped, again if it is to be started when it has stopped, retired if it never is.
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
	st.Events = append([]Event(nil), st.Events...)

	return st
}

func (u *unit) stopped() bool {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.cancel == nil
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

// replace takes a new description and ends the present run, so that the loop starts it anew.
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

// retire has no start work any more.
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
			continue // replaced: start the new description at once
		}

		if err == nil && svc.Once {
			u.set(StateFinished, "Service finished successfully")

			return
		}

		interval := svc.RestartInterval
		if interval == 0 {
			interval = 5 * time.Second
		}

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
	if len(svc.DependsOn) == 0 {
		return ctx.Err() == nil
	}

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

func (u *unit) run(ctx context.Context, svc Service) (err error) {
	log := &lineWriter{sink: u.sup.logs, id: svc.ID}

	defer func() {
		log.Flush()

		// The log of a service may be out of reach just when it is needed most.
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

	// What comes after the end of the run must not be overtaken by the news that it shall end.
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
				health.Go(func() error { u.checkHealth(healthCtx, svc.Health.withDefaults(), hung); return nil })
			}
		},
	})

	if cause := context.Cause(ctx); errors.Is(cause, ErrHung) {
		return cause
	}

	return err
}

func (u *unit) checkHealth(ctx context.Context, h Health, hung context.CancelCauseFunc) {
	wait := h.InitialDelay
	failed, was := 0, false

	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		checkCtx, cancel := context.WithTimeout(ctx, h.Timeout)
		err := guard.Call(func() error { return h.Check(checkCtx) })

		cancel()

		if panicked := (*guard.Panic)(nil); errors.As(err, &panicked) {
			u.sup.log.Error("health check panicked", "service", u.id, "error", err)
			err = fmt.Errorf("panic: %v", panicked.Value)
		}

		if ctx.Err() != nil {
			return
		}

		st := HealthStatus{Known: true, Healthy: err == nil}
		if err != nil {
			st.LastMessage = err.Error()
		}

		u.setHealth(st)

		if failed++; err == nil {
			failed, was = 0, true
		}

		if was && h.Failures > 0 && failed >= h.Failures {
			hung(fmt.Errorf("%w: %d health checks failed in a row, the last with: %w", ErrHung, failed, err))

			return
		}

		// While a service comes up it is asked often, so that what depends on it starts at once.
		wait = h.Period
		if err != nil {
			wait = min(h.Period, 500*time.Millisecond)
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
		u.st.Events = append([]Event(nil), u.st.Events[len(u.st.Events)-maxEvents:]...)
	}
	u.mu.Unlock()

	u.sup.log.Info("service", "id", u.id, "state", string(state), "message", message)
	u.sup.notify(u.status())
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

// lineWriter cuts a service's output into lines.
type lineWriter struct {
	sink LogSink
	id   string
	mu   sync.Mutex
	buf  []byte
	last string
}

// Last is the last line that was written.
func (w *lineWriter) Last() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.last
}

// append logs a line; the lock is held.
func (w *lineWriter) append(line []byte) {
	w.sink.Append(w.id, line)
	w.last = string(line[:min(len(line), maxLast)])
}

// maxLast is how much of the last line is told with a failure.
const maxLast = 400

// maxLine is where a line without an end is cut.
const maxLine = 64 * 1024

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.buf = append(w.buf, p...)

	for {
		i := bytes.IndexByte(w.buf, '\n')
		if i < 0 && len(w.buf) < maxLine {
			return len(p), nil
		}

		if i < 0 {
			w.append(w.buf)
			w.buf = w.buf[:0]

			return len(p), nil
		}

		w.append(bytes.TrimSuffix(w.buf[:i], []byte("\r")))
		w.buf = w.buf[i+1:]
	}
}

// Flush logs an unfinished last line.
func (w *lineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.buf) > 0 {
		w.append(w.buf)
		w.buf = nil
	}
}
