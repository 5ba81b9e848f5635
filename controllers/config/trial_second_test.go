// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// TestSecondChange holds that a change in the place of another one is compared with the machine before both of them.
func TestSecondChange(t *testing.T) {
	first := string(configtest.ControlPlane(t))

	for _, mode := range []Mode{Default, Try} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b := start(ctx, t, map[string]string{fileName: first}, "")

			var broken error

			b.cluster.dial = func(context.Context, string) error { return broken }
			b.cluster.know(addresses{endpoint: "192.0.2.9:6443", all: []string{"192.0.2.9:6443"}})
			b.looks(true)

			if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: mode}); err != nil {
				t.Fatal(err)
			}

			broken = errors.New("i/o timeout")
			b.looks(false)

			if _, err := b.Apply(ctx, Change{Text: []byte("# third\n" + first), Mode: Default}); err != nil {
				t.Fatal(err)
			}

			if got, want := b.trials.record.Before, []string{"apid", apiServerCondition, endpointCondition, "gateway"}; !slices.Equal(got, want) {
				t.Errorf("mode %d: the second change waits for %q, want %q", mode, got, want)
			}
		})
	}
}

// TestSecondIsNotRecorded holds what becomes of a trial when the one in its place cannot be recorded: it does not run any more, and is not shown so.
func TestSecondIsNotRecorded(t *testing.T) {
	first := string(configtest.ControlPlane(t))
	third := "# third\n" + first

	for _, tt := range []struct {
		mode                   Mode
		want                   string
		active, stored, become string
	}{
		{Default, "for good: a trial could not be recorded (it could not begin: write the record to META: EIO)", third, third, third},
		{TryHealthy, "", "# second\n" + first, first, first},
	} {
		inBubble(t, func(ctx context.Context, t *testing.T) {
			b := start(ctx, t, map[string]string{fileName: first}, "")
			b.looks(true)

			if _, err := b.Apply(ctx, Change{Text: []byte("# second\n" + first), Mode: Default}); err != nil {
				t.Fatal(err)
			}

			time.Sleep(time.Second)
			b.meta.fail(errors.New("EIO"))

			applied, err := b.Apply(ctx, Change{Text: []byte(third), Mode: tt.mode})
			if !strings.HasSuffix(applied.Details, tt.want) || (err != nil) != (tt.want == "") {
				t.Errorf("mode %d: got %q, %v, want %q", tt.mode, applied.Details, err, tt.want)
			}

			if got, want := mask(b.shown(t)), []string{"configuration replaced", "configuration reverted"}; !slices.Equal(got, want) {
				t.Errorf("mode %d: shown are %q, want %q", tt.mode, got, want)
			}

			if active, stored := b.text(t, configres.ActiveID), b.disk.durable[fileName]; active != tt.active || stored != tt.stored {
				t.Errorf("mode %d: active is %.20q, stored %.20q", tt.mode, active, stored)
			}

			b.meta.fail(nil)
			time.Sleep(time.Minute)
			b.has(t, "later", tt.become, tt.become, tt.become)
		})
	}
}
