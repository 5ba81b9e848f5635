// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/watchdog"
	"github.com/seed-59268b81/talos/sys/watchdog/watchdogtest"
)

// TestDefaultWatchdog: a machine without a document has a watchdog, which the document replaces for as long as it is there.
func TestDefaultWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &watchdogtest.Fake{}
		f.Plug(dog)
		f.Plug(dog1)

		if _, err := watchdog.Arm(f.Open, dog); err != nil { // the initramfs
			t.Fatal(err)
		}

		w := of(f)
		w.Default = func() string { return dog }
		n := controllertest.Start(t, WatchdogController(w))

		shows := func(device string, timeout time.Duration) {
			t.Helper()
			controllertest.Wait(n, runtime.WatchdogTimerID, func(s runtime.WatchdogTimerStatusSpec) bool {
				return s.Device == device && s.Timeout == timeout
			})
			n.Quiet(time.Hour)

			if f.Resets() > 0 || !f.Runs(device) {
				t.Fatalf("%s: resets: %d, runs: %t", device, f.Resets(), f.Runs(device))
			}
		}

		shows(dog, watchdog.Patience)
		set(n, dog, 20*time.Second)
		shows(dog, 20*time.Second)
		set(n, dog1, time.Minute)
		shows(dog1, time.Minute)

		if f.Runs(dog) {
			t.Error("the default watchdog runs beside the configured one")
		}

		cositest.Teardown[runtime.WatchdogTimerConfigSpec](n.Environment, runtime.WatchdogTimerID)
		shows(dog, watchdog.Patience)
	})
}

// TestHang: the watchdog resets a machine that does not work, and one that works again in time stays.
func TestHang(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hangs  time.Duration
		err    error
		resets bool
	}{
		{"works", 0, nil, false},
		{"hangs for half a minute", 30 * time.Second, nil, false},
		{"hangs", time.Hour, nil, true},
		{"fails", 0, errors.New("EIO"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &watchdogtest.Fake{}
				f.Plug(dog)

				var sick atomic.Bool

				w := of(f)
				w.Default = func() string { return dog }
				w.Works = func(context.Context) error {
					if !sick.Load() {
						return nil
					}

					time.Sleep(tt.hangs)

					if tt.hangs < time.Hour { // it hangs once
						sick.Store(tt.err != nil)
					}

					return tt.err
				}

				n := controllertest.Start(t, WatchdogController(w))
				controllertest.Wait[runtime.WatchdogTimerStatusSpec](n, runtime.WatchdogTimerID, nil)
				n.Quiet(10 * time.Minute)
				sick.Store(true)
				n.Quiet(10 * time.Minute)

				if got := f.Resets() > 0; got != tt.resets {
					t.Errorf("resets: got %t, want %t", got, tt.resets)
				}

				sick.Store(false)
				n.Quiet(time.Hour) // what hangs returns
			})
		})
	}
}

// TestOverdueTrial: a trial that is not decided long after its deadline ends by the watchdog. One that is decided, or being committed, does not.
func TestOverdueTrial(t *testing.T) {
	const deadline = 150 * time.Second

	for _, tt := range []struct {
		name   string
		after  time.Duration
		then   runtime.TrialSpec
		resets bool
	}{
		{"never decided", time.Hour, runtime.TrialSpec{}, true},
		{"committed", time.Minute, runtime.TrialSpec{State: runtime.TrialCommitted}, false},
		{"reverted a little late", deadline + 20*time.Second, runtime.TrialSpec{State: runtime.TrialReverted}, false},
		{"the commit needs many attempts", time.Minute, runtime.TrialSpec{State: runtime.TrialRunning}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &watchdogtest.Fake{}
				f.Plug(dog)

				w := of(f)
				w.Default = func() string { return dog }
				n := controllertest.Start(t, WatchdogController(w))

				// Until is not what counts: the clock of a machine may be set.
				controllertest.Set(n, "x", runtime.TrialSpec{State: runtime.TrialRunning, Deadline: deadline, Until: "2000-01-01T00:00:00Z"})
				time.Sleep(min(tt.after, deadline+30*time.Second))
				synctest.Wait()

				if f.Resets() > 0 {
					t.Fatal("it has reset the machine before the deadline")
				}

				if tt.then.State != "" {
					controllertest.Set(n, "x", tt.then)
				}

				time.Sleep(10 * time.Minute)
				synctest.Wait()

				if got := f.Resets() > 0; got != tt.resets {
					t.Errorf("resets: got %t, want %t", got, tt.resets)
				}
			})
		})
	}
}
