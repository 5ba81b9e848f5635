// SPDX-License-Identifier: Apache-2.0

// Package follow is for processes beside process 1 that serve with what a few resources say. Each has a view of these resources, which is
// read as a whole at each change, and replaced as a whole.
package follow

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// View is how a process gets its view.
type View[V any] struct {
	// Kinds are the resources that are watched.
	Kinds []resource.Kind
	// Read reads the view. An error ends the process: process 1 starts it again.
	Read func(ctx context.Context, r state.Reader) (V, error)
	// Set takes a new view.
	Set func(v V)
}

// Serve serves and keeps the view up to date, until the context ends or one of both fails.
func (v View[V]) Serve(ctx context.Context, st state.State, serve func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	served := guard.Go(func() error {
		defer cancel()

		return serve(ctx)
	})

	err := v.watch(ctx, st)

	cancel()

	return errors.Join(err, <-served)
}

// watch reads the view at each change.
func (v View[V]) watch(ctx context.Context, st state.State) error {
	events := make(chan []state.Event)

	for _, kind := range v.Kinds {
		if err := st.WatchKindAggregated(ctx, kind, events, state.WithBootstrapContents()); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}

	for {
		select {
		case <-ctx.Done():
			return nil
		case batch := <-events:
			for _, e := range batch {
				if e.Type == state.Errored {
					return fmt.Errorf("watch: %w", e.Error)
				}
			}
		}

		view, err := v.Read(ctx, st)
		if ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return err
		}

		v.Set(view)
	}
}
