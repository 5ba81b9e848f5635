// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
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
	case t.running() && !r.Confirm && r.Config.To == digest:
		return fmt.Sprintf("Applied configuration without a reboot. It is in effect already, and on trial (talosctl get trials %s)", r.ID), nil
	case !t.running() && config.Digest(current.Bytes()) == digest: // it may take the place of one that is staged
		return forGood("")
	case !t.judged:
		return forGood("META is not loaded, so a trial could not be recorded")
	case len(t.conditions) == 0:
		return forGood("the health of the machine is not known yet")
	}

	details, err := c.try(ctx, rt, current, cfg, change, log)
	if err != nil && t.record.ID != r.ID && !t.running() { // nothing was changed
		log.Error("a configuration is stored without a trial", "error", err)

		return forGood(fmt.Sprintf("a trial could not be recorded (%s)", t.record.Why))
	}

	return details, err
}

// showPersistent publishes the configuration that the next boot begins with, unless the machine stops without warning: the stored one, or the one
// on trial if no person has to confirm it. So clients that change the persistent configuration twice in a row find their first change.
func (c *Controller) showPersistent(ctx context.Context, rt controller.Runtime, r trial.Record) error {
	if r.State == trial.Running && r.Config.To != "" && !r.Confirm && c.trials.candidate != nil {
		return publish(ctx, rt, configres.PersistentID, c.trials.candidate)
	}

	if c.store == nil {
		return nil
	}

	text, err := c.store.load()
	if err != nil || text == nil {
		return err
	}

	// One that cannot be decoded was not shown before either.
	if cfg, err := access.DecodeStored(text); err == nil {
		return publish(ctx, rt, configres.PersistentID, cfg)
	}

	return nil
}

// endsByStaging commits a running trial that waits for no person, when another configuration is stored for the next boot. A later commit would
// replace that one, which was made from the one on trial, by a caller whom the machine answers with it.
func (c *Controller) endsByStaging(ctx context.Context, rt controller.Runtime, by string, log *slog.Logger) error {
	t := &c.trials
	if !t.running() || t.record.Confirm {
		return nil
	}

	c.judge(ctx, rt, trial.Stored{
		Now: t.now(), Config: t.record.Config.To, Why: fmt.Sprintf("%s stored another one for the next boot", cmp.Or(by, "an apply")),
	}, log)

	return c.handle(ctx, rt, reverted{}, log) // there is nothing to go back to any more
}
