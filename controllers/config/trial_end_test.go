// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/sys/meta"
)

// TestWhyTheTrialBootEnded: the boot after a crash of the version that was tried says why, also when the driver that has the reason is late.
func TestWhyTheTrialBootEnded(t *testing.T) {
	for _, tt := range []struct {
		name, end string
		known     time.Duration // since the boot
		want      string
	}{
		{"a power cut", "", 0, "the machine restarted before the trial was decided"},
		{"a panic", "kernel panic: no init", 0, "the machine restarted before the trial was decided: kernel panic: no init"},
		{"a late driver", "kernel panic: no init", 5 * time.Second, "the machine restarted before the trial was decided: kernel panic: no init"},
		{"no driver", "kernel panic: no init", time.Hour, "the machine restarted before the trial was decided"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, t *testing.T) {
				r := trial.Record{ID: "x", Entry: trial.Change{From: "A", To: "B"}, AtBoot: true, Deadline: trial.DefaultDeadline, State: trial.Running, ArmedIn: "1", Boot: "2"}

				text, err := r.Encode()
				if err != nil {
					t.Fatal(err)
				}

				booted := time.Now()
				values := map[meta.Tag]string{meta.Trial: string(text), meta.Upgrade: "A"}

				boot := &bootFake{entries: []string{"A", "B"}, booted: "A", byDefault: "A", err: errors.New("EIO")}
				b := startEntries(ctx, t, boot, newCutDisk(nil, -1), values)
				b.LastEnd = func() (string, bool) {
					if time.Since(booted) < tt.known {
						return "", false
					}

					return tt.end, true
				}

				boot.fail(nil)
				b.loaded(t)
				time.Sleep(time.Minute)

				if last, err := b.Trial(ctx); err != nil || last.State != trial.Reverted || last.Why != tt.want {
					t.Errorf("got %+v, %v; want reverted: %s", last, err, tt.want)
				}

				if left, ok := values[meta.Upgrade]; ok {
					t.Errorf("META still says that a version is tried, instead of %q", left)
				}
			})
		})
	}
}
