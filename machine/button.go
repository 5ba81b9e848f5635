// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/acpi"
)

// buttonRetry is the pause after a failure to listen.
const buttonRetry = 10 * time.Second

// obeyButton requests a shutdown when the power button is pressed, until the context ends. Hypervisors press it to shut down a
// guest.
func obeyButton(ctx context.Context, st state.State, log *slog.Logger, listen func(context.Context, func(acpi.Event)) error) {
	for ctx.Err() == nil {
		err := guard.Call(func() error {
			return listen(ctx, func(e acpi.Event) {
				if e.Class == acpi.PowerButton && e.Type == acpi.PowerPressed {
					request(ctx, st, log, runtime.PowerShutdown, "power button")
				}
			})
		})

		switch {
		case errors.Is(err, acpi.ErrNoACPI):
			log.Info("there is no power button", "cause", err)

			return
		case err != nil:
			log.Error("the power button is ignored", "error", err, "retry after", buttonRetry)
		}

		select {
		case <-ctx.Done():
		case <-time.After(buttonRetry):
		}
	}
}
