// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestEntryWithoutConfiguration: a machine that cannot use its configuration is upgraded. The version stays when the API answers with it, since
// nothing else worked before, and goes otherwise. The configuration stays as it is.
func TestEntryWithoutConfiguration(t *testing.T) {
	const stored = "version: v9\n"

	for answers, want := range map[bool]struct {
		state     trial.State
		byDefault string
	}{true: {trial.Committed, "B"}, false: {trial.Reverted, "A"}} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A"}
			disk, values := newCutDisk(map[string]string{fileName: stored}, -1), map[meta.Tag]string{}

			boots := func(answers bool) (*entryBench, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				b := startEntries(ctx, t, boot, disk, values)
				b.mount(t)

				if err := errors.Join(
					typed.Set(t.Context(), b.st, "", apidService, serviceres.ServiceSpec{Running: true, Healthy: answers}),
					typed.Set(t.Context(), b.st, "", runtime.MachineStatusID, runtime.MachineStatusSpec{Stage: runtime.StageBooting}),
				); err != nil {
					t.Fatal(err)
				}

				synctest.Wait()

				return b, func() {
					cancel()
					synctest.Wait()
				}
			}

			b, off := boots(true)

			if r, err := b.TryEntry(ctx, trial.Change{From: "A", To: "B"}, "a test", 0); err != nil || boot.next() != "B" {
				t.Fatalf("got %+v, %v; the next boot starts %q", r, err, boot.next())
			}

			off()

			boot.booted, boot.once = "B", ""

			_, off = boots(answers)

			time.Sleep(trial.DefaultDeadline + time.Second)
			synctest.Wait()
			off()

			boot.restarts()

			b, off = boots(true)
			defer off()

			last, err := b.Trial(ctx)
			if err != nil || last.State != want.state || last.Pending || boot.byDefault != want.byDefault {
				t.Errorf("the API answers %t: got %+v, %v, and %s is the default; want %s and %s", answers, last, err, boot.byDefault, want.state, want.byDefault)
			}

			if got := disk.content[fileName]; got != stored {
				t.Errorf("the stored configuration: got %q, want %q", got, stored)
			}
		})
	}
}
