// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// shownTrials is the number of trials that are shown.
const shownTrials = 8

// showTrial publishes the trial.
func (c *Controller) showTrial(ctx context.Context, rt controller.Runtime) error {
	r := c.trials.record
	if r.ID == "" {
		return nil
	}

	if err := typed.Set(ctx, rt, "", r.ID, c.specOf(r)); err != nil {
		return err
	}

	all, err := typed.List[runtime.TrialSpec](ctx, rt, "")
	if err != nil || len(all) <= shownTrials {
		return err
	}

	slices.SortFunc(all, func(a, b *resource.Typed[runtime.TrialSpec]) int {
		return strings.Compare(a.TypedSpec().Since, b.TypedSpec().Since)
	})

	for _, old := range all[:len(all)-shownTrials] {
		if old.Metadata().ID() == r.ID {
			continue
		}

		if err := destroy(ctx, rt, old.Metadata().Pointer()); err != nil {
			return err
		}
	}

	return nil
}

// showReplaced publishes that the trial that was there before was replaced, if it was: also by one that could not begin.
func (c *Controller) showReplaced(ctx context.Context, rt controller.Runtime, was trial.Record, log *slog.Logger) {
	by := c.trials.record.ID
	if was.State.Decided() || was.ID == by {
		return
	}

	spec := c.specOf(was)
	spec.State, spec.Why, spec.Until, spec.Waits = runtime.TrialReplaced, fmt.Sprintf("trial %s took its place", by), "", ""

	if err := typed.Set(ctx, rt, "", was.ID, spec); err != nil {
		log.Error("the trial before is not shown", "error", err)
	}
}

// specOf returns the resource of a trial.
func (c *Controller) specOf(r trial.Record) runtime.TrialSpec {
	var tries []string

	if r.Config.To != "" {
		tries = append(tries, "configuration")
	}

	if r.Entry.To != "" {
		tries = append(tries, "boot entry")
	}

	spec := runtime.TrialSpec{
		Tries: strings.Join(tries, ", "), State: runtime.TrialState(r.State), Why: r.Why, By: r.By, Confirm: r.Confirm, Deadline: r.Deadline,
		From: r.Config.From, To: r.Config.To, FromEntry: r.Entry.From, ToEntry: r.Entry.To, Replaced: r.Replaced,
	}

	if !r.At.IsZero() {
		spec.Since = r.At.UTC().Format(time.RFC3339)
	}

	if r.State == trial.Running {
		if !r.Committing() {
			end, _ := r.Due()
			spec.Until = time.Now().Add(end - c.trials.now()).Round(time.Second).UTC().Format(time.RFC3339)
		}

		if spec.Waits = "a person to confirm it"; !r.Confirm {
			spec.Waits = r.Unmet()
		}

		if trouble := r.Trouble(); trouble != "" {
			spec.Waits = trouble
		}
	}

	return spec
}
