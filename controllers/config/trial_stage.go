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
	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// stagedDetails is what a caller is told who keeps a configuration for the next boot.
const stagedDetails = "Staged configuration to be applied after the next reboot"

// stage has the next boot try a configuration. Where no trial is possible, or another change is on trial already, it is stored for good.
func (c *Controller) stage(ctx context.Context, rt controller.Runtime, current, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	t := &c.trials

	forGood := func(why string) (string, error) {
		details, err := c.stageNow(ctx, rt, cfg, change, log)
		if err == nil && why != "" {
			details += ". It is stored for good: " + why
		}

		return details, err
	}

	switch r := t.record; {
	case current == nil: // there is nothing to go back to
		return forGood("")
	case t.leaving:
		return forGood("the machine goes down")
	case r.Entry.To != "" && !r.State.Decided():
		return forGood("another version of the system is tried, and one change is tried at a time")
	case t.running() && r.Confirm:
		return forGood("another configuration waits for a person, and one change is tried at a time")
	case !t.judged:
		return forGood("META is not loaded, so a trial could not be recorded")
	case len(t.conditions) == 0:
		return forGood("the health of the machine is not known yet")
	}

	deadline, own := t.deadlines(change.Trial)
	if deadline < trial.MinDeadline || deadline > trial.MaxDeadline {
		return "", fmt.Errorf("%w: the time of a trial %s is out of range (%s to %s)", ErrInvalid, deadline, trial.MinDeadline, trial.MaxDeadline)
	}

	if err := c.commitByStaging(ctx, rt, change.By, log); err != nil {
		return "", err
	}

	stored, err := c.store.load()
	if err != nil {
		return "", err
	}

	r := trial.Record{
		ID: strings.ToLower(rand.Text()[:6]), By: change.By, At: time.Now().UTC().Truncate(time.Second), AtBoot: true,
		Deadline: deadline, Own: own, Before: change.answers.before(t.conditions),
		Config: trial.Change{From: config.Digest(stored), To: config.Digest(cfg.Bytes())},
	}

	if stored == nil || r.Config.From == r.Config.To {
		return forGood("")
	}

	if err := c.store.keepCandidate(cfg, t.record.Config.To); err != nil {
		return "", err
	}

	was := *t
	t.candidate, t.before = cfg, nil

	if denied := c.judge(ctx, rt, trial.Arm{Now: t.now(), Boot: t.boot, Trial: r, Replace: true}, log); denied != "" {
		t.candidate, t.before = was.candidate, was.before

		return "", fmt.Errorf("%w: %s", ErrNotReady, denied)
	}

	c.showReplaced(ctx, rt, was.record, log)

	if !t.record.Staged() { // nothing was changed
		log.Error("a configuration is staged without a trial", "error", t.record.Why)

		return forGood(fmt.Sprintf("a trial could not be recorded (%s)", t.record.Why))
	}

	if err := c.showPersistent(ctx, rt, t.record); err != nil {
		return "", err
	}

	return fmt.Sprintf("%s, on trial: it stays if the machine is as healthy with it as before for %s; otherwise the machine goes back to the one before "+
		"in %s (talosctl get trials %s)", stagedDetails, trial.Hold, r.Deadline, r.ID), nil
}

// stageNow stores a configuration for the next boot, for good.
func (c *Controller) stageNow(ctx context.Context, rt controller.Runtime, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	t := &c.trials

	if err := c.commitByStaging(ctx, rt, change.By, log); err != nil {
		return "", err
	}

	if err := c.store.save(cfg); err != nil {
		return "", err
	}

	t.overwritten = false

	if err := c.handle(ctx, rt, staged{cfg}, log); err != nil {
		return "", err
	}

	if t.record.Staged() {
		c.judge(ctx, rt, trial.Stored{
			Now: t.now(), Config: config.Digest(cfg.Bytes()), Why: cmp.Or(change.By, "an apply") + " stored one for the next boot for good",
		}, log)
	}

	return stagedDetails, nil
}

// commitByStaging commits a running trial that waits for no person, before another configuration is kept for the next boot: that one was made
// from the one on trial, by a caller whom the machine answers with it.
func (c *Controller) commitByStaging(ctx context.Context, rt controller.Runtime, by string, log *slog.Logger) error {
	t := &c.trials
	if !t.running() || t.record.Confirm {
		return nil
	}

	denied := c.judge(ctx, rt, trial.Confirm{Now: t.now(), By: cmp.Or(by, "an apply") + ", which stages another one for the next boot,"}, log)
	if denied == "" && t.record.State != trial.Committed {
		denied = fmt.Sprintf("trial %s cannot be committed: %s", t.record.ID, cmp.Or(t.record.Trouble(), t.record.Why))
	}

	if denied != "" {
		return fmt.Errorf("%w: %s", ErrNotReady, denied)
	}

	return nil
}

// storeStaged stores the configuration that waits for the next boot, for good: another change is to be tried, and one is tried at a time.
func (c *Controller) storeStaged(ctx context.Context, rt controller.Runtime, why string, log *slog.Logger) error {
	t := &c.trials
	if !t.record.Staged() || t.leaving {
		return nil
	}

	cfg, err := c.candidate(t.record.Config.To)
	if err != nil {
		return err
	}

	if err := c.storeCandidate(ctx, rt, t.record, log); err != nil {
		return err
	}

	if err := c.handle(ctx, rt, staged{cfg}, log); err != nil {
		return err
	}

	c.judge(ctx, rt, trial.Stored{Now: t.now(), Config: t.record.Config.To, Why: "it was stored for good: " + why}, log)

	return nil
}

// candidateShown reports whether clients see the configuration on trial as that of the next boot.
func candidateShown(r trial.Record) bool {
	return (r.State == trial.Running && r.Config.To != "" || r.Staged()) && !r.Confirm
}

// showPersistent publishes the configuration that the next boot begins with, unless the machine stops without warning: the stored one, or the one
// on trial if no person has to confirm it. So clients that change the persistent configuration twice in a row find their first change.
func (c *Controller) showPersistent(ctx context.Context, rt controller.Runtime, r trial.Record) error {
	if candidateShown(r) && c.trials.candidate != nil {
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
