// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/loader"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/install/upgrade"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Entries are the boot entries of the machine.
type Entries interface {
	Use(fn func(loader.Loader) error) error
}

var errNoEntries = errors.New("this machine has no boot entries")

// entriesPatience is how long a boot waits until it can read the boot entries. After that the trial of an entry ends: the machine goes on
// with the entry that runs, and its next boot is the default one, which is the one before the trial.
const entriesPatience = 30 * time.Second

// evidencePatience is how long a boot that finds a trial waits for the driver of the firmware's memory, which has the reason of a crash.
const evidencePatience = 10 * time.Second

// entriesRetry is the time between two attempts to read them.
const entriesRetry = time.Second

// giveUp ends the trial of a boot entry whose version cannot use the stored configuration, when the machine had one before.
func (c *Controller) giveUp(ctx context.Context, rt controller.Runtime, log *slog.Logger) {
	t := &c.trials
	if r := t.record; t.unusable != nil && r.State == trial.Running && r.Entry.To != "" && slices.Contains(r.Before, configurationCondition) {
		c.judge(ctx, rt, trial.Fatal{Now: t.now(), Why: fmt.Sprintf("the stored configuration cannot be used by it: %v", t.unusable)}, log)
	}
}

// useEntries calls fn with the boot loader.
func (c *Controller) useEntries(fn func(loader.Loader) error) error {
	if c.Entries == nil {
		return errNoEntries
	}

	return c.Entries.Use(fn)
}

// bootOf completes the event of a boot with the entry that runs and the default one. It returns false while they cannot be read.
func (c *Controller) bootOf(rt controller.Runtime, e trial.Boot, log *slog.Logger) (trial.Boot, bool) {
	t := &c.trials
	if t.record.Entry.To == "" || t.record.State.Decided() && !t.record.Pending {
		return e, true
	}

	if c.LastEnd != nil {
		why, known := c.LastEnd()
		if !known && t.now() < evidencePatience {
			time.AfterFunc(entriesRetry, rt.QueueReconcile)

			return e, false
		}

		e.Why = why
	}

	err := c.useEntries(func(l loader.Loader) error {
		booted, err1 := l.Booted()
		byDefault, err2 := l.Default()
		e.Entry, e.Default = booted, byDefault

		return errors.Join(err1, err2)
	})
	if err == nil {
		return e, true
	}

	if t.now() < entriesPatience && c.Entries != nil {
		time.AfterFunc(entriesRetry, rt.QueueReconcile)

		return e, false
	}

	log.Error("the trial of a boot entry ends: the boot entries cannot be read", "trial", t.record.ID, "error", err)

	return e, true
}

// carryOutEntry carries out an action about boot entries.
func (c *Controller) carryOutEntry(action trial.Action) error {
	switch a := action.(type) {
	case trial.BootOnce:
		return c.useEntries(func(l loader.Loader) error { return l.SetOnce(a.Entry) })
	case trial.SetDefault:
		return c.useEntries(func(l loader.Loader) error {
			// The firmware's memory wears out.
			if id, err := l.Default(); err == nil && id == a.Entry {
				return nil
			}

			return l.SetDefault(a.Entry)
		})
	default:
		return fmt.Errorf("%T: this version does not know it", action)
	}
}

// noteFallback keeps the key of META from which existing clients see that a version is tried: the entry to go back to. It decides nothing.
func (c *Controller) noteFallback(r trial.Record) error {
	now, err := c.meta.Get(meta.Upgrade)
	if err != nil {
		return err
	}

	switch {
	case r.Entry.To != "" && !r.State.Decided():
		if string(now) != r.Entry.From {
			return c.meta.Set(meta.Upgrade, []byte(r.Entry.From))
		}
	case now != nil:
		return c.meta.Delete(meta.Upgrade)
	}

	return nil
}

// collectEntries removes the boot entries that are not needed after a trial.
func (c *Controller) collectEntries(r trial.Record) error {
	if r.Entry.To == "" {
		return nil
	}

	return c.useEntries(func(l loader.Loader) error { return upgrade.Collect(l, r) })
}

// entryRequest asks for the trial of an entry, for the end of one, or, without both, for the last trial.
type entryRequest struct {
	change   trial.Change
	by       string
	withdraw trial.Withdraw
	// silent is set when a default gateway does not answer before the trial.
	silent bool
	// within is how long the trial may last, or 0 for the usual time.
	within time.Duration
	answer chan entryAnswer
}

type entryAnswer struct {
	record trial.Record
	err    error
}

// Trial returns the record of the last trial.
func (c *Controller) Trial(ctx context.Context) (trial.Record, error) {
	return c.askTrial(ctx, entryRequest{})
}

// TryEntry has the next boot try a boot entry, for a time or, if that is 0, for the usual one. One that was to be tried at the next boot before
// is not.
func (c *Controller) TryEntry(ctx context.Context, change trial.Change, by string, within time.Duration) (trial.Record, error) {
	return c.askTrial(ctx, entryRequest{change: change, by: by, within: within, silent: c.gateways.anySilent(ctx)})
}

// WithdrawEntry has the next boot not try the boot entry of a trial. With keep that entry stays on the machine.
func (c *Controller) WithdrawEntry(ctx context.Context, id, why string, keep bool) error {
	_, err := c.askTrial(ctx, entryRequest{withdraw: trial.Withdraw{ID: id, Why: why, Keep: keep}})

	return err
}

func (c *Controller) askTrial(ctx context.Context, r entryRequest) (trial.Record, error) {
	r.answer = make(chan entryAnswer, 1)

	select {
	case c.entryRequests <- r:
	case <-ctx.Done():
		return trial.Record{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}

	select {
	case a := <-r.answer:
		return a.record, a.err
	case <-ctx.Done():
		return trial.Record{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}
}

// tryEntry arms the trial of a boot entry.
func (c *Controller) tryEntry(ctx context.Context, rt controller.Runtime, req entryRequest, log *slog.Logger) (trial.Record, error) {
	t := &c.trials

	switch {
	case !t.judged:
		return trial.Record{}, fmt.Errorf("%w: the last trial is not known before META is loaded (see talosctl get volumestatus)", ErrNotReady)
	case req.withdraw.ID != "":
		return t.record, c.withdrawEntry(ctx, rt, req.withdraw, log)
	case req.change.To == "":
		return t.record, nil
	}

	// A configuration on trial would be undone by the restart; one that is healthy is kept before.
	c.judge(ctx, rt, trial.Settle{Now: t.now(), Why: "all conditions hold, and another version of the system is to be tried"}, log)

	if t.running() {
		return trial.Record{}, fmt.Errorf("%w: a configuration is on trial, and waits for %s: try again when trial %s is decided (talosctl get trials), "+
			"or keep the configuration now (talosctl confirm)", ErrNotReady, c.specOf(t.record).Waits, t.record.ID)
	}

	if err := c.storeStaged(ctx, rt, "another version of the system is to be tried", log); err != nil {
		return trial.Record{}, err
	}

	was := t.record
	deadline, own := t.deadlines(req.within)
	r := trial.Record{
		ID: strings.ToLower(rand.Text()[:6]), By: req.by, At: time.Now().UTC().Truncate(time.Second), Entry: req.change, AtBoot: true,
		Deadline: deadline, Own: own, Before: answers{silent: req.silent}.before(t.conditions),
	}

	if denied := c.judge(ctx, rt, trial.Arm{Now: t.now(), Boot: t.boot, Trial: r, Replace: true}, log); denied != "" {
		return trial.Record{}, fmt.Errorf("%w: %s", ErrNotReady, denied)
	}

	c.showReplaced(ctx, rt, was, log)

	if t.record.State != trial.Armed {
		return trial.Record{}, fmt.Errorf("%w: the trial could not begin: %s", ErrNotReady, cmp.Or(t.record.Trouble(), t.record.Why))
	}

	return t.record, nil
}

// withdrawEntry ends a trial before its boot.
func (c *Controller) withdrawEntry(ctx context.Context, rt controller.Runtime, event trial.Withdraw, log *slog.Logger) error {
	event.Now = c.trials.now()

	if denied := c.judge(ctx, rt, event, log); denied != "" {
		return fmt.Errorf("%w: %s", ErrTrial, denied)
	}

	if r := c.trials.record; r.Pending {
		return fmt.Errorf("%w yet: trial %s is reverted, and that is not undone: %s; it is tried again", ErrTrial, r.ID, r.Trouble())
	}

	return nil
}
