// SPDX-License-Identifier: Apache-2.0

// Package runtime drives controllers: it wakes each when what it reads changes, lets it touch nothing that it did not
// declare, and restarts it, alone and with growing delay, when it fails.
//
//	rt := runtime.New(memory.New(), slog.Default())
//	err := rt.RegisterController(&myController{})
//	err = rt.Run(ctx) // until ctx ends
//
// Controllers may be registered before or after Run. One that runs without end, because it changes its own inputs or two
// change each other's, is limited (RateLimit). Over a state in the same process the writer itself wakes the
// controllers that read what it wrote: there is no dispatcher between. Over a remote state there is one watch for
// each kind; when it breaks it is started again, everyone who reads the kind is woken, and queue controllers are given what
// was destroyed meanwhile.
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
	owner      string    // of statuses
	failures   *failures // nil unless they are shown
	limit      RateLimit
	observers  []Observer
	startRetry bool

	mu       sync.Mutex
	claims   claims
	runners  map[string]runner
	ctx      context.Context // of Run, for what is registered later; nil when it does not run
	routes   routes
	finished sync.WaitGroup
}

// runner is a registered controller of either sort.
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

// RegisterController adds a controller, and starts it if the runtime runs. It fails when the name is taken, an input
// is declared twice, an output is somebody else's, or the controller can not be started; then nothing was registered.
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

// Run runs the controllers until the context ends and all of them have returned. It may be called again after that,
// also when it has failed to start; see WithStartRetry.
func (rt *Runtime) Run(ctx context.Context) error {
	for retry := newBackoff(); ; {
		err := rt.runOnce(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, errRunning) || !rt.startRetry || state.ClassOf(err) != 0 {
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

// end waits for all that begin has started.
func (rt *Runtime) end(cancel context.CancelFunc) {
	cancel()
	rt.finished.Wait()

	rt.mu.Lock()
	defer rt.mu.Unlock()

	rt.routes.reset()
	rt.ctx = nil
}

// tellLimited logs and shows that a controller exceeds its rate limit, or no longer does.
func (rt *Runtime) tellLimited(name string, s subject, limited bool) {
	if !limited {
		rt.failures.succeeded(name, s)

		return
	}

	err := errors.New(limitText(rt.limit))
	rt.log.Warn("controller is rate limited", "controller", name, "resource", s.resource, "reason", err)
	rt.failures.failed(name, s, err)
}
