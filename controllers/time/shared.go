// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// SharedClockController replaces SyncController if the host sets the clock. The machine assumes that the clock is right, and reports that
// it does not synchronize it.
func SharedClockController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "time.SyncController",
		Writes:         []controller.Output{controller.Out[timeres.StatusSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			return typed.Set(ctx, rt, "", timeres.StatusID, timeres.StatusSpec{Synced: true, SyncDisabled: true})
		},
	}
}
