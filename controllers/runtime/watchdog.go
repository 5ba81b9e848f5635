// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
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
)

// WatchdogController starts the watchdog of the WatchdogTimerConfig and feeds it. It has a loop of its own for the time between two
// feeds: when process 1 hangs, so does the loop, and the watchdog resets the machine.
func WatchdogController(open watchdog.Opener) controller.Controller { return &watchdogs{open: open} }

type watchdogs struct {
	open   watchdog.Opener
	device watchdog.Device // nil while no watchdog runs
	// config is what the device was started with, and timeout what it made of it.
	config  runtime.WatchdogTimerConfigSpec
	timeout time.Duration
	fault   error
}

// Name implements controller.Controller.
func (*watchdogs) Name() string { return "runtime.WatchdogTimerController" }

// Inputs implements controller.Controller.
func (*watchdogs) Inputs() []controller.Input {
	return []controller.Input{controller.In[runtime.WatchdogTimerConfigSpec](controller.Weak, "", runtime.WatchdogTimerID)}
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
			c.fault = c.device.Feed()
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

// follow starts and stops watchdogs, so that the wanted one runs. Without a device none is wanted.
func (c *watchdogs) follow(wanted runtime.WatchdogTimerConfigSpec) error {
	if c.device != nil && c.config.Device != wanted.Device {
		if err := c.device.Stop(); err != nil {
			return err // it is fed for as long as it runs
		}

		c.device, c.config, c.timeout, c.fault = nil, runtime.WatchdogTimerConfigSpec{}, 0, nil
	}

	if wanted.Device == "" || c.config == wanted {
		return nil
	}

	if c.device == nil {
		device, err := c.open(wanted.Device)
		if err != nil {
			return err
		}

		c.device, c.config.Device = device, wanted.Device
	}

	timeout, err := c.device.SetTimeout(wanted.Timeout)
	if err != nil {
		return err
	}

	c.config, c.timeout = wanted, timeout

	return c.device.Feed()
}
