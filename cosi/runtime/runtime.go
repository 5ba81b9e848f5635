// SPDX-License-Identifier: Apache-2.0

// Package runtime drives controllers: it wakes each when what it reads changes, lets it touch nothing that it did not
// declare, and restarts it, alone and with growing delay, when it fails.
//
//	rt := runtime.New(memory.New(), slog.Default())
//	err := rt.RegisterController(&myController{})
//	err = rt.Run(ctx) // until ctx ends
//
// Controllers may be registered before or after Run. Over a state in the same process the writer itself wakes the
// controllers that read what it wrote: there is no dispatcher between. Over a remote state there is one watch for
// each kind; when it breaks it is made anew, and everyone who reads the kind is woken.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Runtime runs controllers over a state.
type Runtime struct {
	state    state.State
	log      *slog.Logger
	failures *failures // nil unless they are shown

	mu       sync.Mutex
	claims   claims
	runners  map[string]runner
	ctx      context.Context //nolint:containedctx // of Run, for what is registered later
	routes   routes
	finished sync.WaitGroup
}

// runner is a registered controller of either sort.
type runner interface {
	name() string
	start(ctx context.Context) error
	run(ctx context.Context)
	edges() []Edge
	metrics() Metrics
}

// New returns a runtime over the state. A nil log is slog's default.
func New(st state.State, log *slog.Logger) *Runtime {
	if log == nil {
		log = slog.Default()
	}

	rt := &Runtime{state: st, log: log, runners: map[string]runner{}, claims: claims{}}
	rt.routes.init(st, log)

	return rt
}

// RegisterController adds a controller, and starts it if the runtime runs. It fails when the name is taken, an input
// is declared twice, or an output is somebody else's.
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

	if rt.ctx != nil && rt.ctx.Err() == nil {
		return rt.launch(r)
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

// Run runs the controllers until the context ends and all of them have returned.
func (rt *Runtime) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)

	defer rt.finished.Wait()
	defer cancel()

	if err := rt.begin(ctx); err != nil {
		return err
	}

	rt.routes.run(ctx)

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

	if rt.failures != nil {
		rt.failures.ctx = ctx
	}

	for _, r := range rt.runners {
		if err := rt.launch(r); err != nil {
			return err
		}
	}

	return nil
}
