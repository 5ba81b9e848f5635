// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// adapter runs one controller, and is the controller.Runtime that it sees.
type adapter struct {
	*declared

	rt      *Runtime
	c       controller.Controller
	log     *slog.Logger
	wakeups chan struct{}
	backoff *backoff
	outputs outputs

	mu      sync.Mutex
	freeing map[resource.Kind]bool // kinds of outputs whose finalizers are awaited
}

var _ controller.Runtime = (*adapter)(nil)

func newAdapter(rt *Runtime, c controller.Controller) (*adapter, error) {
	inputs := c.Inputs()
	for _, in := range inputs {
		if in.Kind > controller.DestroyReady {
			return nil, fmt.Errorf("input %s is of a kind for queue controllers", kindOf(in))
		}
	}

	declared, err := newDeclared(rt.state, c.Name(), inputs, c.Outputs())
	if err != nil {
		return nil, err
	}

	return &adapter{
		declared: declared, rt: rt, c: c,
		log:     rt.log.With("controller", c.Name()),
		wakeups: make(chan struct{}, 1),
		backoff: newBackoff(),
		freeing: map[resource.Kind]bool{},
	}, nil
}

func (a *adapter) name() string { return a.Name() }

func (a *adapter) start(context.Context) error {
	a.QueueReconcile()

	return a.reroute()
}

// reroute subscribes to the inputs, and to the outputs whose finalizers are awaited.
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

// awaitFree makes the runtime wake the controller when an own output of the kind that is being torn down loses its
// last finalizer. If that is news, it may have happened before: look again.
func (a *adapter) awaitFree(kind resource.Kind) (news bool, err error) {
	a.mu.Lock()
	known := a.freeing[kind]
	a.freeing[kind] = true
	a.mu.Unlock()

	if known {
		return false, nil
	}

	return true, a.reroute()
}

// Events implements controller.Runtime.
func (a *adapter) Events() <-chan struct{} { return a.wakeups }

// QueueReconcile implements controller.Runtime.
func (a *adapter) QueueReconcile() {
	select {
	case a.wakeups <- struct{}{}:
		a.counts.wakeups.Add(1)
	default:
	}
}

// UpdateInputs implements controller.Runtime.
func (a *adapter) UpdateInputs(inputs []controller.Input) error {
	if err := a.SetInputs(inputs); err != nil {
		return err
	}

	return a.reroute()
}

// ResetRestartBackoff implements controller.Runtime.
func (a *adapter) ResetRestartBackoff() {
	a.backoff.reset()
	a.rt.failures.succeeded(a.Name(), "")
}

// run runs the controller until it has finished or the context ends.
func (a *adapter) run(ctx context.Context) {
	for {
		err := a.attempt(ctx)

		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			a.log.Debug("controller has finished")
			a.rt.failures.succeeded(a.Name(), "")

			return
		}

		a.counts.crashes.Add(1)

		a.rt.failures.failed(a.Name(), "", err)

		delay := a.backoff.next()
		a.log.Error("controller failed, restarting", "error", err, "after", delay)

		if !a.pause(ctx, delay) {
			return
		}

		a.QueueReconcile()
	}
}

// pause waits for the delay. A change of the inputs may have cured the failure, so it cuts the wait to the shortest.
func (a *adapter) pause(ctx context.Context, delay time.Duration) bool {
	shortest := time.NewTimer(min(delay, backoffFirst))
	defer shortest.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-shortest.C:
	}

	rest := time.NewTimer(max(0, delay-backoffFirst))
	defer rest.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-a.wakeups:
	case <-rest.C:
	}

	return true
}

func (a *adapter) attempt(ctx context.Context) (err error) {
	defer a.outputs.stop()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()

	return a.c.Run(ctx, a, a.log)
}
