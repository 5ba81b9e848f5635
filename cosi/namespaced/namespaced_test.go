// SPDX-License-Identifier: Apache-2.0

package namespaced_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/namespaced"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) state.State {
		a, b := memory.New(), memory.New()

		return namespaced.New(func(ns string) state.State {
			if ns == "conformance" {
				return a
			}

			return b
		})
	})
}

// mute is a state that can not notify.
type mute struct{ state.State }

// TestRuntime has a controller read from a state that can not notify and write to one that can, and another read that.
func TestRuntime(t *testing.T) {
	far, near := mute{memory.New()}, memory.New()
	st := namespaced.New(func(ns string) state.State {
		if ns == "far" {
			return far
		}

		return near
	})

	rt := runtime.New(st, slog.New(slog.DiscardHandler))

	for _, hop := range [][2]string{{"far", "near"}, {"near", "nearer"}} {
		err := rt.RegisterController(transform.Map[conformance.ItemSpec, conformance.ItemSpec]{
			Name: hop[0], InNamespace: hop[0], OutNamespace: hop[1], Writes: controller.Shared,
			Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[conformance.ItemSpec], out *conformance.ItemSpec) error {
				out.Value = in.TypedSpec().Value + "!"

				return nil
			},
		}.Controller())
		if err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	if err := st.Create(ctx, conformance.NewItem("far", "x", "hello")); err != nil {
		t.Fatal(err)
	}

	r, err := near.WatchFor(ctx, resource.PointerOf[conformance.ItemSpec]("nearer", "x"), state.EventTypeIs(state.Created))
	if err != nil {
		t.Fatal(err)
	}

	if got := r.(conformance.Item).TypedSpec().Value; got != "hello!!" {
		t.Errorf("got %q, want hello!!", got)
	}

	cancel()

	if err := <-done; err != nil {
		t.Error(err)
	}
}
