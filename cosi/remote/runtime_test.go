// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestRuntime runs controllers over the wire, also across a restart of the server with the same or a new store.
func TestRuntime(t *testing.T) {
	ok(t, resource.Register[conformance.ItemSpec]())

	mem := memory.New()
	l := serve(t, mem)
	rt := runtime.New(remote.New(l.conn), slog.New(slog.DiscardHandler))

	ok(t, rt.RegisterController(transform.Map[conformance.ItemSpec, conformance.ItemSpec]{
		Name: "Copy", InNamespace: "n", OutNamespace: "copies", Hold: true, Writes: controller.Shared,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[conformance.ItemSpec], out *conformance.ItemSpec) error {
			out.Value = in.TypedSpec().Value + "!"

			return nil
		},
	}.Controller()))

	ok(t, rt.RegisterQueueController(transform.Queue[conformance.ItemSpec, conformance.ItemSpec]{
		Name: "CopyAgain", InNamespace: "copies", OutNamespace: "again", Writes: controller.Shared,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[conformance.ItemSpec], out *conformance.ItemSpec) error {
			out.Value = in.TypedSpec().Value + "!"

			return nil
		},
	}.Controller()))

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	wantValue := func(st state.State, id, want string) {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()

		_, err := st.WatchFor(ctx, resource.PointerOf[conformance.ItemSpec]("again", id), state.ResourceIs(func(r resource.Resource) bool {
			i, err := typed.As[conformance.ItemSpec](r)

			return err == nil && i.TypedSpec().Value == want
		}))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}

	set(t, mem, "a", "1")
	wantValue(mem, "a", "1!!")

	l.down()
	set(t, mem, "a", "2")
	set(t, mem, "b", "1")
	l.up(server.New(mem))
	wantValue(mem, "a", "2!!")
	wantValue(mem, "b", "1!!")

	fresh := memory.New()

	l.down()
	set(t, fresh, "c", "1")
	l.up(server.New(fresh))
	wantValue(fresh, "c", "1!!")

	cancel()
	ok(t, <-done)
}
