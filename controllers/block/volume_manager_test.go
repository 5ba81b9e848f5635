// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// slowFormat is a Provisioner whose Format blocks until the test sends its result.
type slowFormat struct {
	Provisioner
	ends      chan error
	formatted bool
	unread    error
}

func (f slowFormat) Formatted(string, block.FilesystemSpec) (bool, error) {
	return f.formatted, f.unread
}

func (f slowFormat) Format(context.Context, string, block.FilesystemSpec) error { return <-f.ends }

// The status of a volume is published before an action, and a failure stays published while the action is tried again.
func TestToldBeforeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			ctx, cancel = context.WithCancel(t.Context())
			st          = memory.New()
			f           = slowFormat{ends: make(chan error)}
			rt          = runtime.New(st, slog.New(slog.DiscardHandler))
			done        = make(chan error, 1)
		)

		if err := rt.RegisterController(VolumeManagerController(f, nil, "")); err != nil {
			t.Fatal(err)
		}

		found := testDisk(10*gib, part("STATE", 100*mib, ""))

		set := func(err error) {
			t.Helper()

			if err != nil {
				t.Fatal(err)
			}
		}

		set(StartVolumes(ctx, st))
		set(typed.Set(ctx, st, "", block.SystemDiskID, block.SystemDiskSpec{DiskID: "vda", DevPath: "/dev/vda"}))

		for _, v := range found {
			set(typed.Set(ctx, st, "", v.DevPath, v))
		}

		set(typed.Set(ctx, st, "", block.VolumeState, systemVolumes()[block.VolumeState]))

		go func() { done <- rt.Run(ctx) }()

		var got []string

		for range 3 {
			synctest.Wait()

			s, err := typed.Find[block.VolumeStatusSpec](ctx, st, "", block.VolumeState)
			if err != nil || s == nil {
				t.Fatalf("no status of STATE while it is formatted: %v", err)
			}

			got = append(got, s.TypedSpec().Phase.String())
			f.ends <- errors.New("no space")
		}

		if want := []string{"provisioned", "failed", "failed"}; !slices.Equal(got, want) {
			t.Errorf("while it is formatted: got phases %q, want %q", got, want)
		}

		cancel()

		// The controller may have begun another attempt.
		for {
			select {
			case f.ends <- nil:
			case err := <-done:
				set(err)

				return
			}
		}
	})
}

// Only a volume that was read is published as empty, because a machine with an empty STATE accepts a configuration from everyone.
func TestProvisionedIsEmpty(t *testing.T) {
	for _, test := range []struct {
		name string
		f    slowFormat
		want string
	}{
		{"unreadable", slowFormat{unread: errors.New("read 4096 bytes at 0: input/output error")}, "failed"},
		{"formatted since it was discovered", slowFormat{formatted: true}, "located"},
	} {
		t.Run(test.name, func(t *testing.T) {
			statuses, failures := map[string]block.VolumeStatusSpec{"STATE": {Phase: block.VolumePhaseProvisioned}}, map[string]error{}
			m := volumes{provisioner: test.f}

			if !m.formatted(action{step: stepFormat, volume: "STATE"}, statuses, failures) {
				t.Error("it is to be formatted")
			}

			s := statuses["STATE"]
			if err := failures["STATE"]; err != nil {
				fail(&s, err)
			}

			if got := s.Phase.String(); got != test.want || s.PreFailPhase == block.VolumePhaseProvisioned {
				t.Errorf("got phase %s (before %s), want %s", got, s.PreFailPhase, test.want)
			}
		})
	}
}
