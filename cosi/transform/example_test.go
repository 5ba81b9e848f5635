// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// toRecord creates a record for a host that has a name.
func toRecord(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[hostSpec], out *recordSpec) error {
	if in.TypedSpec().Name == "" {
		return transform.ErrNoOutput
	}

	out.Name = in.TypedSpec().Name + ".example.org"

	return nil
}

// One output for each input, by one function.
func ExampleMap() {
	follow(func(rt *runtime.Runtime) error {
		return rt.RegisterController(transform.Map[hostSpec, recordSpec]{Name: "RecordController", Transform: toRecord}.Controller())
	})
	// Output:
	// www.example.org
	// gone
}

// The same for many inputs: only changed inputs are reconciled. The controller keeps a finalizer on each input, so the output
// is destroyed first.
func ExampleQueue() {
	follow(func(rt *runtime.Runtime) error {
		return rt.RegisterQueueController(transform.Queue[hostSpec, recordSpec]{
			Name: "RecordController", Transform: toRecord, Concurrency: 4,
		}.Controller())
	})
	// Output:
	// www.example.org
	// gone
}

// follow prints the output of a host.
func follow(register func(rt *runtime.Runtime) error) {
	st := memory.New()
	rt := runtime.New(st, slog.New(slog.DiscardHandler))

	if err := register(rt); err != nil {
		panic(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	go rt.Run(ctx)

	if err := typed.Set(ctx, st, "", "web", hostSpec{Name: "www"}); err != nil {
		panic(err)
	}

	record, err := typed.WatchFor[recordSpec](ctx, st, "", "web", nil)
	if err != nil {
		panic(err)
	}

	fmt.Println(record.TypedSpec().Name)

	if err := st.TeardownAndDestroy(ctx, resource.PointerOf[hostSpec]("", "web")); err != nil {
		panic(err)
	}

	if _, err := st.WatchFor(ctx, record.Metadata().Pointer(), state.EventTypeIs(state.Destroyed)); err != nil {
		panic(err)
	}

	fmt.Println("gone")
}
