// SPDX-License-Identifier: Apache-2.0

package cositest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// errFault is the error of a fault.
var errFault = errors.New("a fault of the test")

// faulty is a state that behaves like one on another machine: calls are slow, and fail before or after they took effect (as
// when the answer is lost), and watches break. The seed determines the faults in a bubble of testing/synctest.
type faulty struct {
	state.State

	on atomic.Bool

	mu  sync.Mutex
	rng *rand.Rand
}

func newFaulty(st state.State, rng *rand.Rand) *faulty {
	f := &faulty{rng: rng}
	f.State = access.Route(func(_ context.Context, a access.Attempt) (state.State, error) {
		if a.Verb == access.Get || a.Verb == access.List {
			f.wait()

			if f.oneIn(failedBefore) {
				return nil, errFault
			}
		}

		return st, nil
	})

	return f
}

// Each fault happens once in so many calls.
const (
	failedBefore = 6
	failedAfter  = 6
	panicked     = 12
	brokenWatch  = 4
)

func (f *faulty) oneIn(n int) bool {
	if !f.on.Load() {
		return false
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	return f.rng.IntN(n) == 0
}

func (f *faulty) wait() {
	if !f.on.Load() {
		return
	}

	f.mu.Lock()
	d := time.Duration(f.rng.IntN(100)) * time.Millisecond
	f.mu.Unlock()

	time.Sleep(d)
}

// write makes a call that may fail. Only calls of controllers panic: those of the runtime itself just fail.
func (f *faulty) write(ptr resource.Pointer, call func() error) error {
	f.wait()

	crashes := ptr.Kind() != resource.KindOf[meta.ControllerStatusSpec](meta.NamespaceName)

	switch {
	case f.oneIn(failedBefore):
		return errFault
	case crashes && f.oneIn(panicked):
		panic(errFault)
	}

	if err := call(); err != nil {
		return err
	}

	switch {
	case f.oneIn(failedAfter):
		return errFault
	case crashes && f.oneIn(panicked):
		panic(errFault)
	default:
		return nil
	}
}

// WatchKindAggregated implements state.State.
func (f *faulty) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return state.Relay(ctx, ch, func(list []state.Event) (next []state.Event, last bool) {
		if f.oneIn(brokenWatch) {
			return []state.Event{{Type: state.Errored, Error: errFault}}, true
		}

		return list, false
	}, func(ctx context.Context, events chan<- []state.Event) error {
		return f.State.WatchKindAggregated(ctx, kind, events, opts...)
	})
}

// Create implements state.State.
func (f *faulty) Create(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	return f.write(r.Metadata().Pointer(), func() error { return f.State.Create(ctx, r, opts...) })
}

// Update implements state.State.
func (f *faulty) Update(ctx context.Context, r resource.Resource, opts ...state.WriteOption) error {
	return f.write(r.Metadata().Pointer(), func() error { return f.State.Update(ctx, r, opts...) })
}

// Modify implements state.State.
func (f *faulty) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (r resource.Resource, err error) {
	err = f.write(empty.Metadata().Pointer(), func() (err error) { r, err = f.State.Modify(ctx, empty, fn, opts...); return err })

	return r, err
}

// Destroy implements state.State.
func (f *faulty) Destroy(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) error {
	return f.write(ptr, func() error { return f.State.Destroy(ctx, ptr, opts...) })
}

// Teardown implements state.State.
func (f *faulty) Teardown(ctx context.Context, ptr resource.Pointer, opts ...state.WriteOption) (ready bool, err error) {
	err = f.write(ptr, func() (err error) { ready, err = f.State.Teardown(ctx, ptr, opts...); return err })

	return ready && err == nil, err
}

// AddFinalizer implements state.State.
func (f *faulty) AddFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return f.write(ptr, func() error { return f.State.AddFinalizer(ctx, ptr, finalizers...) })
}

// RemoveFinalizer implements state.State.
func (f *faulty) RemoveFinalizer(ctx context.Context, ptr resource.Pointer, finalizers ...string) error {
	return f.write(ptr, func() error { return f.State.RemoveFinalizer(ctx, ptr, finalizers...) })
}
