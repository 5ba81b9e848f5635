// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/watchdog"
)

const (
	watchdogCondition = "watchdog"
	// feedsPerTimeout is how often a watchdog is fed within its timeout.
	feedsPerTimeout = 3
	// watchdogRetry is how often a watchdog that could not be started is tried: its driver may be loaded later.
	watchdogRetry = 10 * time.Second
	// overdue is how long after its deadline a trial may be undecided.
	overdue = time.Minute
)

// Watchdogs are what the WatchdogController needs from outside.
type Watchdogs struct {
	Open watchdog.Opener
	// Default returns the device that runs when none is configured, or an empty string. The initramfs has started it.
	Default func() string
	// Works returns when process 1 has shown that it works, or with an error. While it hangs, the watchdog is not fed.
	Works func(ctx context.Context) error
}

// WatchdogController starts the watchdog of the WatchdogTimerConfig, or else the default one, and feeds it while process 1 works. It has a
// loop of its own for the time between two feeds: when process 1 hangs, so does the loop, and the watchdog resets the machine. The watchdog
// also resets a machine on which a trial is not decided long after its deadline: the next boot is that of the version before.
func WatchdogController(w Watchdogs) controller.Controller {
	return &watchdogs{Watchdogs: w, trials: map[string]time.Time{}}
}

type watchdogs struct {
	Watchdogs

	device watchdog.Device // nil while no watchdog runs
	// config is what the device was started with, and timeout what it made of it.
	config  runtime.WatchdogTimerConfigSpec
	timeout time.Duration
	fault   error
	// checking has the result of Works, while that is asked.
	checking <-chan error
	// trials has until when the trials that run must be decided.
	trials map[string]time.Time
}

// Name implements controller.Controller.
func (*watchdogs) Name() string { return "runtime.WatchdogTimerController" }

// Inputs implements controller.Controller.
func (*watchdogs) Inputs() []controller.Input {
	return []controller.Input{
		controller.In[runtime.WatchdogTimerConfigSpec](controller.Weak, "", runtime.WatchdogTimerID),
		controller.In[runtime.TrialSpec](controller.Weak, ""),
	}
}

// Outputs implements controller.Controller.
func (*watchdogs) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[runtime.WatchdogTimerStatusSpec](controller.Exclusive), controller.Out[runtime.SettingConditionSpec](controller.Shared),
	}
}

// Run implements controller.Controller.
func (c *watchdogs) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	for {
		wait := time.NewTimer(c.interval())

		select {
		case <-ctx.Done():
			wait.Stop()

			return nil
		case <-rt.Events():
		case <-wait.C:
		}

		wait.Stop()

		if c.device != nil {
			c.feed(ctx, log)
		}

		err := rt.Observe(ctx, func(ctx context.Context) error { return c.reconcile(ctx, rt) })

		switch {
		case err == nil:
			rt.ResetRestartBackoff()
		case c.device == nil:
			return err
		default: // it must be fed: the pause before the runtime starts a failed controller again may be longer than the timeout
			log.Warn("the settings of the watchdog are not followed", "error", err)
		}
	}
}

// feed feeds the watchdog if process 1 works.
func (c *watchdogs) feed(ctx context.Context, log *slog.Logger) {
	for id, until := range c.trials {
		if late := time.Since(until); late > 0 {
			log.Error("a trial is not decided: the watchdog is not fed", "trial", id, "late", late+overdue)

			return
		}
	}

	if c.checking == nil {
		c.checking = guard.Go(func() error { return c.Works(ctx) })
	}

	patience := time.NewTimer(c.interval() / 2)
	defer patience.Stop()

	select {
	case err := <-c.checking:
		if c.checking = nil; err == nil {
			c.fault = c.device.Feed()
		} else if ctx.Err() == nil {
			log.Error("process 1 does not work: the watchdog is not fed", "error", err)
		}
	case <-patience.C:
		log.Error("process 1 does not work: the watchdog is not fed", "error", "the state or the supervisor of services does not answer")
	}
}

// noteTrials notes until when the trials that run must be decided. The time of day may jump, so that is counted from when they are first seen.
func (c *watchdogs) noteTrials(ctx context.Context, rt controller.Runtime) error {
	all, err := typed.List[runtime.TrialSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	running := map[string]bool{}

	for _, t := range all {
		id := t.Metadata().ID()
		if s := t.TypedSpec(); s.State != runtime.TrialRunning || s.Until == "" {
			continue
		}

		if running[id] = true; c.trials[id].IsZero() {
			c.trials[id] = time.Now().Add(t.TypedSpec().Deadline + overdue)
		}
	}

	maps.DeleteFunc(c.trials, func(id string, _ time.Time) bool { return !running[id] })

	return nil
}

func (c *watchdogs) interval() time.Duration {
	if c.device == nil || c.timeout == 0 {
		return watchdogRetry
	}

	return c.timeout / feedsPerTimeout
}

func (c *watchdogs) reconcile(ctx context.Context, rt controller.Runtime) error {
	var wanted runtime.WatchdogTimerConfigSpec

	f := typed.Read(ctx, rt, runtime.WatchdogTimerID, &wanted)
	if f.Err != nil {
		return f.Err
	}

	if err := c.noteTrials(ctx, rt); err != nil {
		return err
	}

	if !f.OK {
		wanted.Device = c.Default()
	}

	err := errors.Join(c.follow(wanted), c.fault)

	rt.StartTrackingOutputs()

	if err != nil {
		if err := typed.Set(ctx, rt, "", watchdogCondition, runtime.SettingConditionSpec{Cause: err.Error()}); err != nil {
			return err
		}
	}

	if c.device != nil && c.timeout > 0 {
		status := runtime.WatchdogTimerStatusSpec{Device: c.config.Device, Timeout: c.timeout, FeedInterval: c.interval()}
		if err := typed.Set(ctx, rt, "", runtime.WatchdogTimerID, status); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[runtime.WatchdogTimerStatusSpec](""), resource.KindOf[runtime.SettingConditionSpec](""))
}

// follow starts and stops watchdogs, so that the wanted one runs. Without a device none is wanted. Without a timeout, the device has the
// default one.
func (c *watchdogs) follow(wanted runtime.WatchdogTimerConfigSpec) error {
	if c.device != nil && c.config.Device != wanted.Device {
		if err := c.device.Stop(); err != nil {
			return err // it is fed for as long as it runs
		}

		c.device, c.config, c.timeout, c.fault = nil, runtime.WatchdogTimerConfigSpec{}, 0, nil
	}

	if wanted.Device == "" || c.config == wanted && c.timeout > 0 {
		return nil
	}

	if c.device == nil {
		device, err := c.Open(wanted.Device)
		if err != nil {
			return err
		}

		c.device, c.config.Device = device, wanted.Device
	}

	set := func() (time.Duration, error) { return c.device.SetTimeout(wanted.Timeout) }
	if wanted.Timeout == 0 {
		set = func() (time.Duration, error) { return watchdog.SetPatience(c.device) }
	}

	timeout, err := set()
	if err != nil {
		return err
	}

	c.config, c.timeout = wanted, timeout

	return c.device.Feed()
}
