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

// mute is a state that cannot notify.
type mute struct{ state.State }

// TestRuntime runs two controllers: one reads from a state that cannot notify and writes to one that can, the other reads
// that one.
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

// TestNowhere: every operation in a namespace without a state is an error, and not a panic.
func TestNowhere(t *testing.T) {
	st := namespaced.New(func(string) state.State { return nil })
	ctx, item := t.Context(), conformance.NewItem("nowhere", "x", "")
	ptr, kind := item.Metadata().Pointer(), item.Metadata().Kind()
	nothing := func(resource.Resource) error { return nil }

	for name, operation := range map[string]func() error{
		"get":       func() error { _, err := st.Get(ctx, ptr); return err },
		"list":      func() error { _, err := st.List(ctx, kind); return err },
		"watch":     func() error { return st.Watch(ctx, ptr, nil) },
		"kind":      func() error { return st.WatchKind(ctx, kind, nil) },
		"batches":   func() error { return st.WatchKindAggregated(ctx, kind, nil) },
		"watch for": func() error { _, err := st.WatchFor(ctx, ptr); return err },
		"create":    func() error { return st.Create(ctx, item) },
		"update":    func() error { return st.Update(ctx, item) },
		"modify":    func() error { _, err := st.Modify(ctx, item, nothing); return err },
		"conflicts": func() error { _, err := st.UpdateWithConflicts(ctx, ptr, nothing); return err },
		"destroy":   func() error { return st.Destroy(ctx, ptr) },
		"teardown":  func() error { _, err := st.Teardown(ctx, ptr); return err },
		"both":      func() error { return st.TeardownAndDestroy(ctx, ptr) },
		"add":       func() error { return st.AddFinalizer(ctx, ptr, "f") },
		"remove":    func() error { return st.RemoveFinalizer(ctx, ptr, "f") },
		"notify":    func() error { return st.(state.Notifier).Notify(ctx, kind, func(*state.Event) {}) },
	} {
		want := state.Unsupported
		if name == "get" {
			want = state.NotFound
		}

		if err := operation(); state.ClassOf(err) != want {
			t.Errorf("%s: got %v, want class %d", name, err, want)
		}
	}
}
