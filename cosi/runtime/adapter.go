// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// adapter runs one controller, and is its controller.Runtime.
type adapter struct {
	*declared

	rt       *Runtime
	c        controller.Controller
	log      *slog.Logger
	wakeups  chan struct{}
	pace     pace
	backoff  *backoff
	outputs  outputs
	finished atomic.Bool

	mu      sync.Mutex
	freeing map[resource.Kind]bool // kinds of outputs that wait for their finalizers to be removed
}

var _ controller.Runtime = (*adapter)(nil)

func newAdapter(rt *Runtime, c controller.Controller) (*adapter, error) {
	inputs := c.Inputs()
	for _, in := range inputs {
		if in.Kind > controller.DestroyReady {
			return nil, fmt.Errorf("input %s has a kind for queue controllers", kindOf(in))
		}
	}

	declared, err := newDeclared(rt.state, c.Name(), inputs, c.Outputs())
	if err != nil {
		return nil, err
	}

	a := &adapter{
		declared: declared, rt: rt, c: c,
		log:     rt.log.With("controller", c.Name()),
		wakeups: make(chan struct{}, 1),
		backoff: newBackoff(),
		freeing: map[resource.Kind]bool{},
	}
	a.pace = pace{limit: rt.limit, deliver: a.deliver, tell: func(limited bool) { rt.tellLimited(a.Name(), subject{limited: true}, limited) }}

	return a, nil
}

func (a *adapter) name() string { return a.Name() }

func (a *adapter) start(context.Context) error {
	a.finished.Store(false)
	a.QueueReconcile()

	return a.reroute()
}

// reroute subscribes to the inputs, and to the kinds in freeing.
func (a *adapter) reroute() error {
	a.mu.Lock()
	defer a.mu.Unlock()

	wake := func(*state.Event) { a.QueueReconcile() }
	wanted := map[resource.Kind][]route{}

	for _, in := range a.Inputs() {
		wanted[kindOf(in)] = append(wanted[kindOf(in)],
			route{owner: a, id: in.ID, destroyReady: in.Kind == controller.DestroyReady, deliver: wake})
	}

	for kind := range a.freeing {
		wanted[kind] = append(wanted[kind], route{owner: a, destroyReady: true, deliver: func(ev *state.Event) {
			if ev == nil || ev.Resource.Metadata().Owner() == a.Name() {
				a.QueueReconcile()
			}
		}})
	}

	return a.rt.routes.replace(a, wanted)
}

// awaitFree makes the runtime wake the controller when one of its outputs of the kind is tearing down and loses its last
// finalizer. If it returns news, that may have happened before the subscription: the caller must look again.
func (a *adapter) awaitFree(kind resource.Kind) (news bool, err error) {
	a.mu.Lock()
	known := a.freeing[kind]
	a.freeing[kind] = true
	a.mu.Unlock()

	if known {
		return false, nil
	}

	if err := a.reroute(); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()

		delete(a.freeing, kind)

		return false, err
	}

	return true, nil
}

// Events implements controller.Runtime.
func (a *adapter) Events() <-chan struct{} { return a.wakeups }

// QueueReconcile implements controller.Runtime.
func (a *adapter) QueueReconcile() { a.pace.wake() }

// deliver wakes the controller. It returns false if an earlier wake-up is still pending.
func (a *adapter) deliver() bool {
	select {
	case a.wakeups <- struct{}{}:
		a.counts.wakeups.Add(1)

		return true
	default:
		return false
	}
}

// Observe implements controller.Runtime.
func (a *adapter) Observe(ctx context.Context, round func(context.Context) error) error {
	return a.rt.observe(ctx, Round{Controller: a.Name()}, round)
}

func (a *adapter) metrics() Metrics {
	m := a.declared.metrics()
	m.Finished = a.finished.Load()

	return m
}

// UpdateInputs implements controller.Runtime.
func (a *adapter) UpdateInputs(inputs []controller.Input) error {
	before := a.Inputs()

	if err := a.SetInputs(inputs); err != nil {
		return err
	}

	if err := a.reroute(); err != nil {
		return errors.Join(err, a.SetInputs(before))
	}

	return nil
}

// ResetRestartBackoff implements controller.Runtime.
func (a *adapter) ResetRestartBackoff() {
	a.backoff.reset()
	a.rt.failures.succeeded(a.Name(), subject{})
}

// run runs the controller until it has finished or the context ends.
func (a *adapter) run(ctx context.Context) {
	for early := false; ; {
		err := a.attempt(ctx)

		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.finish()

			return
		}

		a.counts.crashes.Add(1)
		a.rt.failures.failed(a.Name(), subject{}, err)

		delay, floor := a.backoff.next(early)
		a.log.Error("controller failed, restarting", "error", err, "after", delay)

		var ok bool
		if early, ok = a.pause(ctx, delay, floor); !ok {
			return
		}

		a.QueueReconcile()
	}
}

// finish records that the controller does not run again. For a controller with inputs that is probably a mistake.
func (a *adapter) finish() {
	a.finished.Store(true)
	a.rt.failures.succeeded(a.Name(), subject{})

	if len(a.Inputs()) > 0 {
		a.log.Warn("Run has returned nil: the controller has finished, and changes of its inputs do not start it again")
	} else {
		a.log.Info("controller has finished")
	}
}

// pause waits for the delay. A change of an input may fix the failure, so it shortens the wait to the floor.
func (a *adapter) pause(ctx context.Context, delay, floor time.Duration) (early, ok bool) {
	if !sleep(ctx, floor) {
		return false, false
	}

	rest := time.NewTimer(delay - floor)
	defer rest.Stop()

	select {
	case <-ctx.Done():
		return false, false
	case <-a.wakeups:
		return true, true
	case <-rest.C:
		return false, true
	}
}

func (a *adapter) attempt(ctx context.Context) error {
	defer a.outputs.stop()

	return guard.Call(func() error { return a.c.Run(ctx, a, a.log) })
}
