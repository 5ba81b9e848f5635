// SPDX-License-Identifier: Apache-2.0

//go:build linux

package watchdog_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/sys/watchdog"
	"github.com/seed-59268b81/talos/sys/watchdog/watchdogtest"
)

func TestFind(t *testing.T) {
	const soft, hard = "Software Watchdog\n", "i6300ESB timer\n"

	for _, tt := range []struct {
		name       string
		identities map[string]string
		want       string
	}{
		{"none", nil, ""},
		{"the kernel's own", map[string]string{"watchdog0": soft}, "/dev/watchdog0"},
		{"the hardware's came later", map[string]string{"watchdog0": soft, "watchdog1": hard}, "/dev/watchdog1"},
		{"two of the hardware", map[string]string{"watchdog10": hard, "watchdog2": hard}, "/dev/watchdog2"},
		{"without identity", map[string]string{"watchdog0": ""}, "/dev/watchdog0"},
		{"other names", map[string]string{"watchdog": hard, "watchdogx": hard, "watchdog-1": hard, "dog0": hard}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := t.TempDir()

			for name, identity := range tt.identities {
				dir := filepath.Join(sys, "class/watchdog", name)
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}

				if identity == "" {
					continue
				}

				if err := os.WriteFile(filepath.Join(dir, "identity"), []byte(identity), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			if got := watchdog.Find(sys); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestArm: a watchdog that was armed resets the machine unless process 1 takes it over in time.
func TestArm(t *testing.T) {
	const path = "/dev/watchdog0"

	for _, tt := range []struct {
		name          string
		longest, want time.Duration
	}{
		{"any", 0, watchdog.Patience},
		{"a short counter", 40 * time.Second, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &watchdogtest.Fake{Longest: tt.longest}
				f.Plug(path)

				if got, err := watchdog.Arm(f.Open, path); err != nil || got != tt.want {
					t.Fatalf("got %s, %v; want %s", got, err, tt.want)
				}

				time.Sleep(tt.want - time.Second)
				synctest.Wait()

				if f.Resets() > 0 {
					t.Error("it has reset the machine too early")
				}

				d, err := f.Open(path) // machined
				if err != nil {
					t.Fatal(err)
				}

				time.Sleep(2 * time.Second)
				synctest.Wait()

				if f.Resets() > 0 {
					t.Error("it has reset a machine that took it over")
				}

				if err := d.Leave(); err != nil {
					t.Fatal(err)
				}

				time.Sleep(2 * time.Minute)
				synctest.Wait()

				if f.Resets() != 1 {
					t.Errorf("left alone, it has reset the machine %d times", f.Resets())
				}
			})
		})
	}
}

// TestArmNothing: a device that takes no timeout at all is stopped again.
func TestArmNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const path = "/dev/watchdog0"

		f := &watchdogtest.Fake{Longest: time.Second}
		f.Plug(path)

		if _, err := watchdog.Arm(f.Open, path); err == nil {
			t.Error("armed with a timeout that the device refuses")
		}

		time.Sleep(time.Hour)

		if f.Runs(path) || f.Resets() > 0 {
			t.Errorf("it runs: %t, resets: %d", f.Runs(path), f.Resets())
		}
	})
}
