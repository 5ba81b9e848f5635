// SPDX-License-Identifier: Apache-2.0

// Package runtime runs controllers. It wakes a controller when one of its inputs changes, refuses access that the controller
// has not declared, and restarts a failed controller, alone and with growing delay.
//
//	rt := runtime.New(memory.New(), slog.Default())
//	err := rt.RegisterController(&myController{})
//	err = rt.Run(ctx) // until ctx ends
//
// Controllers may be registered before or after Run. A controller that runs without end, because it changes its own inputs or
// two change each other's, is limited (RateLimit). If the state is in the same process, the writer of a resource itself wakes
// the controllers that read it: there is no dispatcher in between. A remote state has one watch for each kind. When the watch
// breaks, it is started again, all controllers that read the kind are woken, and queue controllers receive the resources that
// were destroyed in between. When a watch cannot be started at all, Run ends with an error. If the server of a remote state may
// start later than the program, use WithStartRetry: Run then tries again until the server answers.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Runtime runs controllers over a state.
type Runtime struct {
	state      state.State
	log        *slog.Logger
	owner      string    // of the statuses
	failures   *failures // nil without ShowFailures
	limit      RateLimit
	observers  []Observer
	startRetry bool

	mu       sync.Mutex
	claims   claims
	runners  map[string]runner
	ctx      context.Context // of Run, for controllers that are registered later; nil while Run does not run
	routes   routes
	finished sync.WaitGroup
}

// runner is a registered controller, with or without a queue.
type runner interface {
	name() string
	start(ctx context.Context) error
	run(ctx context.Context)
	edges() []Edge
	written() []resource.Kind
	metrics() Metrics
}

// New returns a runtime over the state. A nil log is slog's default.
func New(st state.State, log *slog.Logger, opts ...Option) *Runtime {
	if log == nil {
		log = slog.Default()
	}

	rt := &Runtime{
		state: st, log: log, owner: defaultOwner, limit: DefaultRateLimit,
		runners: map[string]runner{}, claims: claims{},
	}

	for _, opt := range opts {
		opt(rt)
	}

	rt.routes.init(st, log)

	return rt
}

// RegisterController adds a controller, and starts it if the runtime runs. It fails when the name is taken, an input is
// declared twice, an output belongs to another controller, or the controller cannot be started. Then nothing is registered.
func (rt *Runtime) RegisterController(c controller.Controller) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()

	a, err := newAdapter(rt, c)
	if err != nil {
		return fmt.Errorf("register controller %q: %w", c.Name(), err)
	}

	return rt.register(a, c.Outputs())
}

func (rt *Runtime) register(r runner, outputs []controller.Output) error {
	if _, taken := rt.runners[r.name()]; taken {
		return fmt.Errorf("register controller %q: the name is taken", r.name())
	}

	if err := rt.claims.add(r.name(), outputs); err != nil {
		return fmt.Errorf("register controller %q: %w", r.name(), err)
	}

	rt.runners[r.name()] = r

	if rt.ctx == nil || rt.ctx.Err() != nil {
		return nil
	}

	if err := rt.launch(r); err != nil {
		delete(rt.runners, r.name())
		rt.claims.remove(r.name())

		return err
	}

	return nil
}

// launch starts a controller; the lock is held.
func (rt *Runtime) launch(r runner) error {
	if err := r.start(rt.ctx); err != nil {
		return fmt.Errorf("start controller %q: %w", r.name(), err)
	}

	ctx := rt.ctx

	rt.finished.Go(func() { r.run(ctx) })

	return nil
}

var errRunning = errors.New("the controller runtime already runs")

// Run runs the controllers until the context ends and all of them have returned. It may be called again afterwards, also
// after a failed start; see WithStartRetry.
func (rt *Runtime) Run(ctx context.Context) error {
	for retry := newBackoff(); ; {
		err := rt.runOnce(ctx)
		refused := state.ClassOf(err) != 0 && !state.IsUnavailable(err)

		if err == nil || ctx.Err() != nil || errors.Is(err, errRunning) || !rt.startRetry || refused {
			return err
		}

		delay := retry.wait()
		rt.log.Warn("the controller runtime does not start, trying again", "error", err, "after", delay)

		if !sleep(ctx, delay) {
			return nil
		}
	}
}

func (rt *Runtime) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if err := rt.begin(ctx); errors.Is(err, errRunning) {
		return err
	} else if err != nil {
		rt.end(cancel)

		return err
	}

	rt.routes.run(ctx)
	rt.end(cancel)

	return nil
}

func (rt *Runtime) begin(ctx context.Context) error {
	rt.mu.Lock()
	defer rt.mu.Unlock()

	if rt.ctx != nil {
		return errRunning
	}

	rt.ctx = ctx
	rt.routes.begin(ctx)

	for _, r := range rt.runners {
		if err := rt.launch(r); err != nil {
			return err
		}
	}

	if rt.failures != nil {
		rt.finished.Go(func() { rt.failures.run(ctx) })
	}

	return nil
}

// end stops everything that begin has started, and waits for it.
func (rt *Runtime) end(cancel context.CancelFunc) {
	cancel()
	rt.finished.Wait()

	rt.mu.Lock()
	defer rt.mu.Unlock()

	rt.routes.reset()
	rt.ctx = nil
}

// tellLimited logs that a controller exceeds its rate limit, and sets or removes that failure.
func (rt *Runtime) tellLimited(name string, s subject, limited bool) {
	if !limited {
		rt.failures.succeeded(name, s)

		return
	}

	err := errors.New(limitText(rt.limit))
	rt.log.Warn("controller is rate limited", "controller", name, "resource", s.resource, "reason", err)
	rt.failures.failed(name, s, err)
}
