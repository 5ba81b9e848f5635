// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/watchdog/watchdogtest"
)

func TestWatchdogConfig(t *testing.T) {
	n := controllertest.Start(t, WatchdogConfigController())
	n.Configure([]byte("apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n"))

	got := controllertest.Wait[runtime.WatchdogTimerConfigSpec](n, runtime.WatchdogTimerID, nil)
	if want := (runtime.WatchdogTimerConfigSpec{Device: "/dev/watchdog0", Timeout: time.Minute}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	n.Configure([]byte("machine:\n  type: worker\n"))
	cositest.WaitGone[runtime.WatchdogTimerConfigSpec](n.Environment, runtime.WatchdogTimerID)
}

const dog, dog1 = "/dev/watchdog0", "/dev/watchdog1"

func set(n *controllertest.Node, device string, timeout time.Duration) {
	controllertest.Set(n, runtime.WatchdogTimerID, runtime.WatchdogTimerConfigSpec{Device: device, Timeout: timeout})
}

// of are watchdogs without a default one, on a machine that works.
func of(f *watchdogtest.Fake) Watchdogs {
	return Watchdogs{Open: f.Open, Default: func() string { return "" }, Works: func(context.Context) error { return nil }}
}

// TestWatchdog: the watchdog runs and is fed while it is configured, however late its driver is loaded.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &watchdogtest.Fake{Longest: 5 * time.Minute, Step: 8 * time.Second}
		n := controllertest.Start(t, WatchdogController(of(f)))

		set(n, dog, 20*time.Second)
		controllertest.Wait(n, watchdogCondition, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, dog) })
		n.Quiet(time.Minute)

		f.Plug(dog)
		f.Plug(dog1)

		got := controllertest.Wait[runtime.WatchdogTimerStatusSpec](n, runtime.WatchdogTimerID, nil)
		if diff := cmp.Diff(runtime.WatchdogTimerStatusSpec{Device: dog, Timeout: 24 * time.Second, FeedInterval: 8 * time.Second}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		cositest.WaitGone[runtime.SettingConditionSpec](n.Environment, watchdogCondition)
		n.Quiet(time.Hour)

		// A timeout that the device refuses leaves the old one.
		set(n, dog, time.Hour)
		controllertest.Wait(n, watchdogCondition, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "1h0m0s") })
		n.Quiet(time.Hour)

		set(n, dog1, 4*time.Minute)
		controllertest.Wait(n, runtime.WatchdogTimerID, func(s runtime.WatchdogTimerStatusSpec) bool { return s.Device == dog1 })
		n.Quiet(time.Hour)

		if f.Runs(dog) || !f.Runs(dog1) {
			t.Errorf("%s runs: %t, %s runs: %t", dog, f.Runs(dog), dog1, f.Runs(dog1))
		}

		cositest.Teardown[runtime.WatchdogTimerConfigSpec](n.Environment, runtime.WatchdogTimerID)
		cositest.WaitGone[runtime.WatchdogTimerStatusSpec](n.Environment, runtime.WatchdogTimerID)
		n.Quiet(time.Hour)

		if f.Runs(dog1) || f.Resets() > 0 {
			t.Errorf("%s runs: %t, resets: %d", dog1, f.Runs(dog1), f.Resets())
		}
	})
}

// TestWatchdogWithoutWayOut: a watchdog that cannot be stopped is fed on.
func TestWatchdogWithoutWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &watchdogtest.Fake{NoWayOut: true}
		f.Plug(dog)

		n := controllertest.Start(t, WatchdogController(of(f)))
		set(n, dog, 10*time.Second)
		controllertest.Wait[runtime.WatchdogTimerStatusSpec](n, runtime.WatchdogTimerID, nil)

		cositest.Teardown[runtime.WatchdogTimerConfigSpec](n.Environment, runtime.WatchdogTimerID)
		controllertest.Wait(n, watchdogCondition, func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "nowayout") })
		n.Quiet(time.Hour)

		if f.Resets() > 0 || f.Fed() < 100 {
			t.Errorf("got %d resets, fed %d times", f.Resets(), f.Fed())
		}

		synctest.Wait()
	})
}

// failing is a Runtime of which each round fails.
type failing struct{ controller.Runtime }

func (failing) Events() <-chan struct{} { return nil }
func (failing) Observe(context.Context, func(context.Context) error) error {
	return errors.New("no state")
}

// TestWatchdogWithoutState: a watchdog that runs is fed although its settings cannot be read.
func TestWatchdogWithoutState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &watchdogtest.Fake{}
		f.Plug(dog)

		device, err := f.Open(dog)
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		c := &watchdogs{Watchdogs: of(f), device: device, timeout: 12 * time.Second, config: runtime.WatchdogTimerConfigSpec{Device: dog}}
		if err := c.Run(ctx, failing{}, slog.New(slog.DiscardHandler)); err != nil || f.Resets() > 0 {
			t.Errorf("got %v, %d resets", err, f.Resets())
		}

		if err := device.Stop(); err != nil {
			t.Error(err)
		}
	})
}
