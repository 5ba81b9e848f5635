// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// try begins the trial of a configuration. It returns what the caller is told.
func (c *Controller) try(ctx context.Context, rt controller.Runtime, current, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	t := &c.trials

	healthy := change.Mode != Try

	wait, own, shortest := cmp.Or(max(change.Trial, 0), DefaultTrial), time.Duration(0), trial.MinConfirm
	if healthy {
		wait, own = t.deadlines(change.Trial)
		shortest = trial.MinDeadline
	}

	switch {
	case wait < shortest || wait > trial.MaxDeadline:
		return "", fmt.Errorf("%w: the time of a trial %s is out of range (%s to %s)", ErrInvalid, wait, shortest, trial.MaxDeadline)
	case healthy && current == nil:
		return "", fmt.Errorf("%w: a machine without a configuration has no health that a trial could keep; apply the first one without a trial", ErrNotReady)
	case healthy && len(t.conditions) == 0:
		return "", fmt.Errorf("%w: the health of the machine is not known yet", ErrNotReady)
	case !t.judged:
		return "", fmt.Errorf("%w: a configuration cannot be tried before META is loaded (see talosctl get volumestatus)", ErrNotReady)
	}

	r := trial.Record{
		ID: strings.ToLower(rand.Text()[:6]), By: change.By, At: time.Now().UTC().Truncate(time.Second), Confirm: !healthy, Deadline: wait, Own: own,
		Before: change.answers.before(t.conditions), Config: trial.Change{To: config.Digest(cfg.Bytes())},
	}

	before := current
	if t.running() {
		if before = t.before; before == nil && c.state.trial != nil { // the boot began with it
			before = c.state.trial.before
		}
	}

	if before != nil {
		r.Config.From = config.Digest(before.Bytes())
	}

	if r.Config.From == r.Config.To {
		return c.tryBefore(ctx, rt, change, log)
	}

	if change.Mode != Default { // such a trial leaves what is staged as it is
		if err := c.storeStaged(ctx, rt, cmp.Or(change.By, "an apply")+" tries another one", log); err != nil {
			return "", err
		}
	}

	if err := c.store.keepCandidate(cfg, t.record.Config.To); err != nil {
		return "", err
	}

	// After an error, the trial that was there goes on.
	was := *t
	t.candidate, t.before = cfg, before

	if denied := c.judge(ctx, rt, trial.Arm{Now: t.now(), Boot: t.boot, Trial: r, Replace: true}, log); denied != "" {
		t.candidate, t.before = was.candidate, was.before

		return "", fmt.Errorf("%w: %s", ErrNotReady, denied)
	}

	c.showReplaced(ctx, rt, was.record, log)

	if t.record.State != trial.Running {
		return "", fmt.Errorf("%w: the trial could not begin: %s", ErrNotReady, t.record.Why)
	}

	if err := c.showPersistent(ctx, rt, t.record); err != nil {
		return "", err
	}

	if healthy {
		// The machine is as healthy as before, until something changes. What a change breaks shows within the time for which all must hold.
		c.judge(ctx, rt, trial.Observe{Now: t.now(), Conditions: t.conditions}, log)

		if change.Mode == Default {
			return fmt.Sprintf("Applied configuration without a reboot. It is on trial: it stays if the machine is as healthy with it as before for %s; "+
				"otherwise the machine goes back to the one before in %s (talosctl get trials %s)", trial.Hold, wait, r.ID), nil
		}

		return fmt.Sprintf("Applied configuration on trial: it stays if the machine is healthy with it for %s; otherwise the machine goes back to the one "+
			"before in %s (talosctl get trials %s)", trial.Hold, wait, r.ID), nil
	}

	return fmt.Sprintf("Applied configuration on trial: the machine goes back to the one before in %s, unless it is confirmed (talosctl confirm %s) "+
		"or another is applied", wait, r.ID), nil
}

// tryBefore tries what was in effect before the trial, or is in effect without one.
func (c *Controller) tryBefore(ctx context.Context, rt controller.Runtime, change Change, log *slog.Logger) (string, error) {
	if !c.trials.running() {
		return "The configuration is in effect already: there is nothing to try", nil
	}

	id := c.trials.record.ID
	why := cmp.Or(change.By, "an apply") + " applied the configuration before it, and so"

	if denied := c.judge(ctx, rt, trial.Refuse{Now: c.trials.now(), By: why}, log); denied != "" {
		return "", fmt.Errorf("%w: %s", ErrNotReady, denied)
	}

	if change.Mode == Default {
		return fmt.Sprintf("Applied configuration without a reboot. It is the one before trial %s, which is over", id), nil
	}

	return fmt.Sprintf("The configuration before trial %s is in effect again", id), nil
}

// settleTrial ends a running trial, because a configuration is stored and in effect.
func (c *Controller) settleTrial(ctx context.Context, rt controller.Runtime, cfg *config.Config, by string, log *slog.Logger) {
	if !c.trials.running() && !c.trials.record.Staged() {
		return
	}

	c.trials.overwritten = false

	digest, what := config.Digest(cfg.Bytes()), "another configuration"
	if digest == c.trials.record.Config.To {
		what = "the configuration"
	}

	c.judge(ctx, rt, trial.Stored{Now: c.trials.now(), Config: digest, Why: fmt.Sprintf("%s was applied for good (%s)", what, cmp.Or(by, "an apply"))}, log)
}

// overtaken ends a running trial when a configuration that was found elsewhere was stored meanwhile.
func (c *Controller) overtaken(ctx context.Context, rt controller.Runtime, log *slog.Logger) {
	t := &c.trials
	if !t.running() || t.record.AtBoot || c.state.trial != nil || c.state.unkept != nil || c.store == nil {
		return
	}

	text, err := c.store.load()
	if err != nil {
		return // the deadline ends it
	}

	t.overwritten = false
	c.judge(ctx, rt, trial.Stored{Now: t.now(), Config: config.Digest(text), Why: "the configuration that was found beside STATE was stored"}, log)
}

// active returns the configuration that has effect, or nil.
func (c *Controller) active(ctx context.Context, rt controller.Runtime) (*config.Config, error) {
	var active configres.MachineConfigSpec

	f := typed.Read(ctx, rt, configres.ActiveID, &active)
	if !f.OK {
		return nil, f.Err
	}

	return active.Config(), nil
}
