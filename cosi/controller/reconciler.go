// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Reconciler is the usual controller: a function that runs once for each wake-up.
type Reconciler struct {
	ControllerName string
	Reads          []Input
	Writes         []Output
	// Cleanup names kinds of outputs. Resources of these kinds that a reconcile did not write are destroyed.
	Cleanup []resource.Kind
	// Reconcile updates the outputs to match the inputs. After an error the runtime runs it again, with backoff.
	Reconcile func(ctx context.Context, rt Runtime, log *slog.Logger) error
}

// Name implements Controller.
func (r *Reconciler) Name() string { return r.ControllerName }

// Inputs implements Controller.
func (r *Reconciler) Inputs() []Input { return r.Reads }

// Outputs implements Controller.
func (r *Reconciler) Outputs() []Output { return r.Writes }

// Run implements Controller.
func (r *Reconciler) Run(ctx context.Context, rt Runtime, log *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		}

		if err := rt.Observe(ctx, func(ctx context.Context) error { return r.round(ctx, rt, log) }); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func (r *Reconciler) round(ctx context.Context, rt Runtime, log *slog.Logger) error {
	if len(r.Cleanup) == 0 {
		return r.Reconcile(ctx, rt, log)
	}

	rt.StartTrackingOutputs()

	if err := r.Reconcile(ctx, rt, log); err != nil {
		return err
	}

	return rt.CleanupOutputs(ctx, r.Cleanup...)
}
