// SPDX-License-Identifier: Apache-2.0

package cosiotel_test

import (
	"context"
	"fmt"
	"log/slog"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cosiotel"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
)

// Each round of a controller is a span.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)) // of a program: one with an exporter

	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler), runtime.WithObserver(cosiotel.Tracer(provider)))

	err := rt.RegisterController(&controller.Reconciler{
		ControllerName: "GreetingController",
		Reconcile:      func(context.Context, controller.Runtime, *slog.Logger) error { cancel(); return nil },
	})
	if err != nil {
		panic(err)
	}

	rt.Run(ctx)

	for _, span := range recorder.Ended() {
		fmt.Println(span.Name())
	}
	// Output: GreetingController reconcile
}
