// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/block"
)

// TestRequestAgain requests a volume while the request before is being torn down: that is made again when it has gone, and no error meanwhile.
func TestRequestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "Test"

		var failed error

		e := cositest.Start(t, &controller.Reconciler{
			ControllerName: name,
			Reads:          volume.Inputs(),
			Writes:         []controller.Output{volume.Output()},
			Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
				_, err := volume.Request(ctx, rt, name, "user", block.VolumeState, func(context.Context) error { return nil })
				if err != nil {
					failed = err
				}

				return err
			},
		})

		synctest.Wait()

		request := resource.PointerOf[block.VolumeMountRequestSpec]("", "user-"+block.VolumeState)
		ctx := t.Context()

		// What mounts the volume holds the request.
		if err := e.State.AddFinalizer(ctx, request, "mount"); err != nil {
			t.Fatal(err)
		}

		if _, err := e.State.Teardown(ctx, request, state.WithOwner(name)); err != nil {
			t.Fatal(err)
		}

		cositest.Set(e, "other", block.VolumeMountStatusSpec{VolumeID: "other"}) // wakes the controller
		synctest.Wait()

		if failed != nil {
			t.Errorf("while the request is torn down: %v", failed)
		}

		if err := e.State.RemoveFinalizer(ctx, request, "mount"); err != nil {
			t.Fatal(err)
		}

		if err := e.State.Destroy(ctx, request, state.WithOwner(name)); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		r, err := e.State.Get(ctx, request)
		if err != nil {
			t.Fatalf("after it was destroyed: %v", err)
		}

		if r.Metadata().Phase() != resource.PhaseRunning {
			t.Errorf("the new request is %s", r.Metadata().Phase())
		}
	})
}
