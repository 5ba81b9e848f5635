// SPDX-License-Identifier: Apache-2.0

package etcd_test

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

// machine is the state of one of several machines: local resources in memory, shared ones in etcd.
func machine(t *testing.T, prefix string) state.State {
	t.Helper()

	local, shared := memory.New(), open(t, prefix)

	return namespaced.New(func(namespace string) state.State {
		if namespace == "local" {
			return local
		}

		return shared
	})
}

// TestMixedConformance has some namespaces in memory and some in etcd.
func TestMixedConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) state.State {
		t.Helper()

		st, local := machine(t, newPrefix()), memory.New()

		return namespaced.New(func(namespace string) state.State {
			if namespace == "conformance-other" {
				return local
			}

			return st
		})
	})
}

// TestMixedControllers: a controller of one machine publishes local resources in the shared namespace, and a controller of
// the other machine creates local resources from them.
func TestMixedControllers(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	prefix := newPrefix()
	one, two := machine(t, prefix), machine(t, prefix)

	for name, hop := range map[string]struct {
		st       state.State
		from, to string
	}{"Publish": {one, "local", "shared"}, "Take": {two, "shared", "local"}} {
		rt := runtime.New(hop.st, slog.New(slog.DiscardHandler))

		ok(t, rt.RegisterController(transform.Map[conformance.ItemSpec, conformance.ItemSpec]{
			Name: name, InNamespace: hop.from, OutNamespace: hop.to, Writes: controller.Shared,
			Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[conformance.ItemSpec], out *conformance.ItemSpec) error {
				out.Value = in.TypedSpec().Value + "!"

				return nil
			},
		}.Controller()))

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		t.Cleanup(func() {
			cancel()
			ok(t, <-done)
		})
	}

	ok(t, one.Create(t.Context(), conformance.NewItem("local", "x", "hello")))

	ptr := resource.PointerOf[conformance.ItemSpec]("local", "x")

	r, err := two.WatchFor(t.Context(), ptr, state.EventTypeIs(state.Created))
	ok(t, err)

	if got := value(r); got != "hello!!" {
		t.Errorf("got %q, want hello!!", got)
	}

	// The removal is passed on too.
	ok(t, one.TeardownAndDestroy(t.Context(), ptr))

	_, err = two.WatchFor(t.Context(), ptr, state.EventTypeIs(state.Destroyed))
	ok(t, err)
}
