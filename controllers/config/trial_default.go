// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/trial"
)

// byDefault applies a configuration as a client does that says nothing about a trial: the machine keeps it if it stays as healthy as before.
//
// A configuration that cannot be tried is stored at once, as clients expect, and the answer says why. One case is refused: while another
// version of the system is tried, a configuration would decide about that version, or stay behind when the version goes.
func (c *Controller) byDefault(ctx context.Context, rt controller.Runtime, current, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	t := &c.trials
	r := t.record
	digest := config.Digest(cfg.Bytes())

	forGood := func(why string) (string, error) {
		change.Mode = Now

		details, err := c.effect(ctx, rt, current, cfg, change, log)
		if err == nil && why != "" {
			details += ". It is stored for good: " + why
		}

		return details, err
	}

	switch {
	case current == nil: // there is nothing to go back to
		return forGood("")
	case r.State == trial.Running && r.Entry.To != "":
		return "", fmt.Errorf("%w: another version of the system is on trial: apply the configuration when trial %s is decided (talosctl get trials), "+
			"keep the version now (talosctl confirm), or apply the configuration for good (--for-good)", ErrNotReady, r.ID)
	case r.State == trial.Armed && r.Entry.To != "":
		return forGood("another version of the system is tried at the next boot, and one change is tried at a time")
	case t.leaving:
		return forGood("the machine goes down")
	case t.running() && !r.Confirm && r.Config.To == digest:
		return fmt.Sprintf("Applied configuration without a reboot. It is in effect already, and on trial (talosctl get trials %s)", r.ID), nil
	case !t.running() && config.Digest(current.Bytes()) == digest, r.Staged() && r.Config.From == digest: // it takes the place of one that is staged
		return forGood("")
	case !t.judged:
		return forGood("META is not loaded, so a trial could not be recorded")
	case len(t.conditions) == 0:
		return forGood("the health of the machine is not known yet")
	}

	details, err := c.try(ctx, rt, current, cfg, change, log)
	if now := t.record; err != nil && now.ID != r.ID && now.ID != t.recorded { // nothing was changed
		log.Error("a configuration is stored without a trial", "error", err)

		return forGood(fmt.Sprintf("a trial could not be recorded (%s)", t.record.Why))
	}

	return details, err
}
