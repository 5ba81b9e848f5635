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
	"time"

	"github.com/seed-59268b81/talos/config"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/install/trial"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
)

// trials is what the controller knows of the trial of this boot. Package install/trial decides; this file carries out what it decides, in
// the loop of the controller, so that a trial and an apply never change the configuration at the same time.
//
// Until a trial is committed, its configuration is a file of its own, and the stored one stays as it is. So a machine that restarts needs
// nothing of the trial to start with what was committed last: neither META nor that file.
type trials struct {
	// record is the trial. It is read once META and STATE can be read; then judged is set.
	record trial.Record
	judged bool
	// finding is set while the trial of the boot before is judged.
	finding bool
	// recorded is the last trial whose beginning is in META.
	recorded string
	// boot names this boot, and start is when it began. The kernel's id of a boot is that of the host in a container.
	boot  string
	start time.Time
	// candidate is the configuration that is tried, and before the one that had effect, or nil.
	candidate, before *config.Config
	// instead takes the place of the stored configuration in this boot.
	instead *config.Config
	// unusable is why the stored configuration could not be used when the boot looked for one.
	unusable error
	// conditions are the latest ones, and first is when each of them held first.
	conditions []trial.Condition
	first      firstMet
	// leaving is set when the machine goes down.
	leaving bool
	// overwritten is set when the stored configuration may be the one that is tried: a commit has begun to write it.
	overwritten bool
}

func newTrials() trials {
	return trials{boot: rand.Text(), start: time.Now(), first: newFirstMet()}
}

// deadlines returns the deadlines of a trial. wanted is the author's choice or 0.
func (t *trials) deadlines(wanted time.Duration) (deadline, own time.Duration) {
	all, ours := t.first.took(t.conditions)
	t.first.over = true

	if wanted <= 0 {
		own = trial.DeadlineFor(0, ours)
	}

	return trial.DeadlineFor(wanted, all), own
}

// BootedAt sets when the boot began: with the kernel of the machine, which has one of its own. Else it begins with the controller.
func (c *Controller) BootedAt(start time.Time) { c.trials.start = start }

// now returns the time since the boot.
func (t *trials) now() time.Duration { return time.Since(t.start) }

// due fires when the trial is to be judged again; never without one.
func (t *trials) due() <-chan time.Time {
	next, ok := t.record.Next()
	if !ok {
		return nil
	}

	return time.After(next - t.now())
}

// running reports whether a configuration is tried in this boot.
func (t *trials) running() bool { return t.record.State == trial.Running && t.record.Config.To != "" }

// Decision is a person's decision about a trial. Without an ID it is about the one that is running.
type Decision struct {
	ID, By string
	Revert bool

	answer chan decided
}

// Decided is what became of a trial.
type Decided struct {
	ID    string
	State runtime.TrialState
	Why   string
}

type decided struct {
	Decided

	err error
}

// errNoState is the error of a trial while the machine goes down.
var errNoState = errors.New("STATE is not mounted")

// ErrTrial is the class of decisions that change nothing.
var ErrTrial = errors.New("nothing is decided")

// Decide commits the running trial, or reverts it. It returns when that is on the disk. The error is ErrTrial if there is nothing to decide.
func (c *Controller) Decide(ctx context.Context, d Decision) (Decided, error) {
	d.answer = make(chan decided, 1)

	select {
	case c.decisions <- d:
	case <-ctx.Done():
		return Decided{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}

	select {
	case a := <-d.answer:
		return a.Decided, a.err
	case <-ctx.Done():
		return Decided{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}
}

func (c *Controller) decide(ctx context.Context, rt controller.Runtime, d Decision, log *slog.Logger) decided {
	now, want := c.trials.now(), trial.Committed

	var event trial.Event = trial.Confirm{Now: now, ID: d.ID, By: d.By}
	if d.Revert {
		event, want = trial.Refuse{Now: now, ID: d.ID, By: d.By}, trial.Reverted
	}

	if denied := c.judge(ctx, rt, event, log); denied != "" {
		return decided{err: fmt.Errorf("%w: %s (see talosctl get trials)", ErrTrial, denied)}
	}

	if d.Revert { // one that is staged was shown as that of the next boot
		if err := c.showPersistent(ctx, rt, c.trials.record); err != nil {
			return decided{err: err}
		}
	}

	switch r := c.trials.record; {
	case r.State != want:
		return decided{err: fmt.Errorf("%w yet: trial %s: %s; it is tried again", ErrTrial, r.ID, cmp.Or(r.Trouble(), r.Why))}
	case r.Pending:
		return decided{err: fmt.Errorf("%w yet: trial %s is reverted, and that is not undone: %s; it is tried again", ErrTrial, r.ID, r.Trouble())}
	default:
		return decided{Decided: Decided{r.ID, runtime.TrialState(r.State), r.Why}}
	}
}

// find judges the trial that META has, once META and STATE can be read. A configuration that can be read does not wait for META: a trial of
// a configuration leaves the stored one as it is.
func (c *Controller) find(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	t := &c.trials
	if t.judged {
		return nil
	}

	text, err := c.meta.Get(meta.Trial)
	if errors.Is(err, metactl.ErrNotLoaded) {
		return nil
	}

	if err == nil {
		t.record, err = trial.Decode(text)
	}

	// The trial of a boot entry alone does not need STATE, which the system that is tried may be unable to mount.
	if c.store == nil && (t.record.Entry.To == "" || t.record.Config.To != "") {
		return nil
	}

	boot, ok := c.bootOf(rt, trial.Boot{Now: t.now(), Boot: t.boot}, log)
	if !ok {
		return nil
	}

	if err != nil {
		log.Error("the last trial is not known: the machine runs what was committed last", "error", err)
	}

	t.judged = true

	if c.store != nil {
		if text, err := c.store.load(); err == nil && text != nil {
			boot.Config = config.Digest(text)
		}
	}

	t.overwritten = boot.Config != "" && boot.Config == t.record.Config.To
	t.finding = true
	c.judge(ctx, rt, boot, log)
	t.finding = false

	if c.store != nil && t.record.State.Decided() && !t.record.Pending {
		// A cut before the record was written leaves a configuration behind that was never tried.
		if err := c.store.forgetCandidate(); err != nil {
			log.Error("a configuration that is not needed stays in STATE", "error", err)
		}
	}

	if t.running() && !t.record.Confirm && c.state.phase != searching { // the boot began without it
		if err := c.showPersistent(ctx, rt, t.record); err != nil {
			return err
		}
	}

	return c.showTrial(ctx, rt)
}

// judge passes an event to package trial, and carries out what follows. It returns why a request is denied.
func (c *Controller) judge(ctx context.Context, rt controller.Runtime, event trial.Event, log *slog.Logger) string {
	t := &c.trials

	var denied string

	t.record, denied = trial.Carry(t.record, event, t.now, func(r trial.Record, a trial.Action) error { return c.carryOut(ctx, rt, r, a, log) })

	if t.record.State.Decided() && !t.record.Pending { // the next trial has a commit of its own
		t.overwritten = false
	}

	if err := c.showTrial(ctx, rt); err != nil {
		log.Error("the trial is not shown", "error", err)
		rt.QueueReconcile()
	}

	return denied
}

// carryOut carries out an action about a trial.
func (c *Controller) carryOut(ctx context.Context, rt controller.Runtime, r trial.Record, action trial.Action, log *slog.Logger) error {
	switch a := action.(type) {
	case trial.Save:
		text, err := a.Record.Encode()
		if err != nil {
			return err
		}

		if err := c.meta.Set(meta.Trial, text); err != nil {
			return err
		}

		if !a.Record.State.Decided() {
			c.trials.recorded = a.Record.ID
		}

		if err := c.noteFallback(a.Record); err != nil {
			log.Warn("existing clients do not see whether a version is tried", "error", err)
		}

		return nil
	case trial.UseConfig:
		return c.useConfig(ctx, rt, r, a.Config, log)
	case trial.StoreConfig:
		if c.store == nil {
			return errNoState
		}

		if a.Config == r.Config.To {
			return c.storeCandidate(ctx, rt, r, log)
		}

		return c.storeBefore(ctx, rt, r)
	case trial.Reboot:
		if r.State == trial.Armed { // who asked for the trial restarts the machine
			return nil
		}

		if c.Reboot == nil {
			return errors.New("this machine cannot restart itself")
		}

		c.Reboot(ctx, a.Why)

		return nil
	case trial.Collect:
		err := c.collectEntries(r)

		switch {
		case c.store != nil:
			err = errors.Join(err, c.store.forgetTrial())
		case r.Config.To != "":
			err = errors.Join(err, errNoState)
		}

		return err
	case trial.Report:
		level := slog.LevelInfo
		if a.Error {
			level = slog.LevelError
		}

		log.Log(ctx, level, a.Text)

		return nil
	default:
		return c.carryOutEntry(action)
	}
}

// useConfig puts the configuration that is tried in effect, or the one before it.
func (c *Controller) useConfig(ctx context.Context, rt controller.Runtime, r trial.Record, digest string, log *slog.Logger) error {
	t := &c.trials

	if digest != r.Config.To {
		if err := c.handle(ctx, rt, trialOver{}, log); err != nil || r.Confirm || c.state.phase == searching {
			return err
		}

		return c.showPersistent(ctx, rt, r)
	}

	cfg, err := c.candidate(digest)
	if err != nil {
		return err
	}

	switch {
	case t.finding && c.state.phase == searching: // the boot begins with it
		t.instead = cfg

		return nil
	case t.finding:
		if t.before, err = c.active(ctx, rt); err != nil {
			return err
		}
	}

	return c.handle(ctx, rt, tried{cfg, t.before}, log)
}

// candidate returns the configuration that is tried.
func (c *Controller) candidate(digest string) (*config.Config, error) {
	if cfg := c.trials.candidate; cfg != nil && config.Digest(cfg.Bytes()) == digest {
		return cfg, nil
	}

	if c.store == nil {
		return nil, errNoState
	}

	cfg, err := c.store.candidate(digest)
	c.trials.candidate = cfg

	return cfg, err
}

// storeCandidate makes the configuration that is tried the stored one.
func (c *Controller) storeCandidate(ctx context.Context, rt controller.Runtime, r trial.Record, log *slog.Logger) error {
	cfg, err := c.candidate(r.Config.To)
	if err != nil {
		return err
	}

	stored, err := c.store.load()
	if err != nil {
		return err
	}

	if stored == nil || config.Digest(stored) != r.Config.To {
		if err := c.store.keepBefore(stored); err != nil {
			return err
		}

		c.trials.overwritten = true

		if err := c.store.save(cfg); err != nil {
			return err
		}
	}

	if c.state.trial == nil { // the boot begins with the stored one
		return nil
	}

	return c.handle(ctx, rt, applied{cfg}, log)
}

// storeBefore makes the configuration before the trial the stored one again, if a commit that failed may have replaced it.
func (c *Controller) storeBefore(ctx context.Context, rt controller.Runtime, r trial.Record) error {
	if !c.trials.overwritten {
		return nil
	}

	cfg, err := c.store.restoreBefore(r.Config.From == "")
	if err != nil {
		return err
	}

	c.trials.overwritten = false

	if cfg == nil || c.state.phase == searching {
		return nil
	}

	return publish(ctx, rt, configres.PersistentID, cfg)
}
