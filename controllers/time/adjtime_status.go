// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/sys/clock"
	"github.com/seed-59268b81/talos/sys/platform"
)

// adjtimeInterval is how often the kernel's clock is read: the kernel does not announce changes.
const adjtimeInterval = 30 * time.Second

// AdjtimeStatusController publishes the state of the kernel's clock.
type AdjtimeStatusController struct {
	// Read is clock.Read, except in tests.
	Read func() (clock.State, error)
}

// Name implements controller.Controller.
func (*AdjtimeStatusController) Name() string { return "time.AdjtimeStatusController" }

// Inputs implements controller.Controller.
func (*AdjtimeStatusController) Inputs() []controller.Input { return nil }

// Outputs implements controller.Controller.
func (*AdjtimeStatusController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[timeres.AdjtimeStatusSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *AdjtimeStatusController) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	ticker := time.NewTicker(adjtimeInterval)
	defer ticker.Stop()

	for {
		state, err := c.Read()
		if err != nil {
			return err
		}

		if err := typed.Set(ctx, rt, "", timeres.StatusID, adjtimeStatus(state)); err != nil {
			return err
		}

		rt.ResetRestartBackoff()

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		case <-ticker.C:
		}
	}
}

func adjtimeStatus(s clock.State) timeres.AdjtimeStatusSpec {
	return timeres.AdjtimeStatusSpec{
		Offset: s.Offset, FrequencyAdjustmentRatio: 1 + s.FrequencyPPM/1e6, MaxError: s.MaxError, EstError: s.EstError,
		Constant: s.Constant, SyncStatus: s.Synchronised, Status: s.Status, State: s.Leap,
	}
}

// Controllers of the domain.
func Controllers(p platform.Platform) []controller.Controller {
	if !p.Owns(platform.Clock) {
		return []controller.Controller{SharedClockController(), &AdjtimeStatusController{Read: clock.Read}}
	}

	return []controller.Controller{&SyncController{Clock: System}, &AdjtimeStatusController{Read: clock.Read}}
}
