// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// outputs records the outputs that a controller has written.
type outputs struct {
	mu      sync.Mutex
	touched map[resource.Pointer]struct{} // nil when not tracking
}

func (o *outputs) start() {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.touched = map[resource.Pointer]struct{}{}
}

// stop ends tracking and returns the record, nil if tracking was off.
func (o *outputs) stop() map[resource.Pointer]struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()

	touched := o.touched
	o.touched = nil

	return touched
}

func (o *outputs) note(ptr resource.Pointer) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.touched != nil {
		o.touched[ptr] = struct{}{}
	}
}

// StartTrackingOutputs implements controller.Runtime.
func (a *adapter) StartTrackingOutputs() { a.outputs.start() }

// Create implements controller.Runtime.
func (a *adapter) Create(ctx context.Context, r resource.Resource) error {
	a.outputs.note(r.Metadata().Pointer())

	return a.declared.Create(ctx, r)
}

// Update implements controller.Runtime.
func (a *adapter) Update(ctx context.Context, r resource.Resource) error {
	a.outputs.note(r.Metadata().Pointer())

	return a.declared.Update(ctx, r)
}

// Modify implements controller.Runtime.
func (a *adapter) Modify(ctx context.Context, empty resource.Resource, fn func(resource.Resource) error, opts ...state.WriteOption) (resource.Resource, error) {
	ptr := empty.Metadata().Pointer()
	a.outputs.note(ptr)

	for {
		r, err := a.declared.Modify(ctx, empty, fn, opts...)
		if !state.IsPhaseConflict(err) {
			return r, err
		}

		if again, failed := a.awaitFree(ptr.Kind()); failed != nil || !again {
			return nil, errors.Join(err, failed)
		}
	}
}

var errNotTracking = errors.New("cleanup of outputs without StartTrackingOutputs")

// CleanupOutputs implements controller.Runtime.
func (a *adapter) CleanupOutputs(ctx context.Context, kinds ...resource.Kind) error {
	touched := a.outputs.stop()
	if touched == nil {
		return errNotTracking
	}

	for _, kind := range kinds {
		items, err := a.List(ctx, kind)
		if err != nil {
			return err
		}

		for _, r := range items {
			ptr := r.Metadata().Pointer()
			if _, wanted := touched[ptr]; wanted || r.Metadata().Owner() != a.Name() {
				continue
			}

			if err := a.discard(ctx, ptr); err != nil {
				return fmt.Errorf("clean up output %s: %w", ptr, err)
			}
		}
	}

	return nil
}

// discard destroys an output, or has the controller woken when that becomes possible.
func (a *adapter) discard(ctx context.Context, ptr resource.Pointer) error {
	for {
		ready, err := a.Teardown(ctx, ptr)
		if err == nil && ready {
			err = a.Destroy(ctx, ptr)
		}

		switch {
		case state.IsNotFound(err):
			return nil
		case err != nil && state.ClassOf(err) != state.PendingFinalizers:
			return err
		case err == nil && ready:
			return nil
		}

		if again, err := a.awaitFree(ptr.Kind()); err != nil || !again {
			return err
		}
	}
}
