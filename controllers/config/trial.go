// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// trial is a configuration in effect for a time. It ends with what was in effect before, which need not be what is stored: that
// may be staged for the next boot.
type trial struct {
	ends time.Time
	// before is nil for a machine that had none.
	before *config.Config
}

// try puts a configuration in effect for a time. A trial of a trial ends where the first one began.
func (c *Controller) try(ctx context.Context, rt controller.Runtime, cfg *config.Config, wait time.Duration) error {
	next := &trial{ends: time.Now().Add(wait)}

	if c.trial != nil {
		next.before = c.trial.before
	} else {
		active, err := typed.Find[configres.MachineConfigSpec](ctx, rt, "", configres.ActiveID)
		if err != nil {
			return err
		}

		if active != nil {
			next.before = active.TypedSpec().Config()
		}
	}

	// Before anything changes: what fails halfway is taken back too.
	c.trial = next

	return c.activate(ctx, rt, cfg)
}

// over fires when the trial ends; never without one.
func (t *trial) over() <-chan time.Time {
	if t == nil {
		return nil
	}

	return time.After(time.Until(t.ends))
}

// revert ends a trial. It is over only when that has been done: after an error it is tried again.
func (c *Controller) revert(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	if c.trial.before != nil {
		log.WarnContext(ctx, "the trial is over: going back to the configuration before it")

		if err := c.activate(ctx, rt, c.trial.before); err != nil {
			return err
		}

		c.trial = nil

		return nil
	}

	log.WarnContext(ctx, "the trial is over and there was no configuration before it")

	if err := c.open(ctx, rt); err != nil {
		return err
	}

	if err := destroy(ctx, rt, resource.PointerOf[configres.MachineConfigSpec]("", configres.ActiveID)); err != nil {
		return err
	}

	c.trial = nil

	return nil
}
