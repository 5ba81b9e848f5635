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

// slowFormat takes until it is told how it ends.
type slowFormat struct {
	Provisioner
	ends chan error
}

func (f slowFormat) Format(context.Context, string, block.FilesystemSpec) error { return <-f.ends }

// What is about to be done to a volume is told before it is done, and a failure stays told while it is tried again.
func TestToldBeforeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			ctx, cancel = context.WithCancel(t.Context())
			st          = memory.New()
			f           = slowFormat{ends: make(chan error)}
			rt          = runtime.New(st, slog.New(slog.DiscardHandler))
			done        = make(chan error, 1)
		)

		if err := rt.RegisterController(VolumeManagerController(f)); err != nil {
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

		// The controller may be at it once more.
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
