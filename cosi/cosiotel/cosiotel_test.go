// SPDX-License-Identifier: Apache-2.0

package cosiotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cosiotel"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type hostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

type siteSpec struct {
	Host string `yaml:"host" protobuf:"1"`
}

var (
	hostDefinition = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}
	siteDefinition = &resource.Definition{Type: "Sites.example.org", DefaultNamespace: "default"}
)

func (hostSpec) Definition() *resource.Definition { return hostDefinition }
func (siteSpec) Definition() *resource.Definition { return siteDefinition }

func TestTracer(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()

	synctest.Test(t, func(t *testing.T) {
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
		st := memory.New()
		rt := runtime.New(st, slog.New(slog.DiscardHandler), runtime.WithObserver(cosiotel.Tracer(provider)))

		fails := errors.New("no such host")

		if err := errors.Join(
			rt.RegisterController(&controller.Reconciler{
				ControllerName: "Once",
				Reconcile: func(ctx context.Context, _ controller.Runtime, _ *slog.Logger) error {
					if !trace.SpanFromContext(ctx).IsRecording() {
						t.Error("the context of a round has no span")
					}

					return nil
				},
			}),
			rt.RegisterQueueController(controller.QueueReconciler[hostSpec]{
				ControllerName: "Hosts",
				Mapped:         []controller.MappedInput{controller.MappedIn[siteSpec](controller.Mapped, "", controller.SameID)},
				Reconcile: func(context.Context, controller.Access, *slog.Logger, *resource.Typed[hostSpec]) error {
					return fails
				},
			}.Controller()),
		); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)

		go func() { done <- rt.Run(ctx) }()

		synctest.Wait()

		if err := errors.Join(typed.Set(ctx, st, "", "a", hostSpec{})); err != nil {
			t.Fatal(err)
		}

		synctest.Wait()

		if err := typed.Set(ctx, st, "", "b", siteSpec{}); err != nil { // no host has this id
			t.Fatal(err)
		}

		synctest.Wait()
		cancel()

		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})

	var got []string

	for _, s := range recorder.Ended() {
		var attributes []string
		for _, a := range s.Attributes() {
			attributes = append(attributes, strings.TrimPrefix(string(a.Key), "cosi.")+"="+a.Value.AsString())
		}

		got = append(got, fmt.Sprint(s.Name(), " ", strings.Join(attributes, " "), " ", s.Status().Code == codes.Error, " ", s.Status().Description, " ", len(s.Events())))
	}

	slices.Sort(got)

	want := []string{
		"Hosts map controller=Hosts resource=Sites.example.org(default/b) outcome=done false  0",
		"Hosts reconcile controller=Hosts resource=Hosts.example.org(default/a) outcome=failed true no such host 1",
		"Hosts reconcile controller=Hosts resource=Hosts.example.org(default/b) outcome=done false  0",
		"Once reconcile controller=Once outcome=done false  0",
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func ExampleTracer() {
	recorder := tracetest.NewSpanRecorder() // or an exporter of OTLP
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	rt := runtime.New(memory.New(), slog.New(slog.DiscardHandler), runtime.WithObserver(cosiotel.Tracer(provider)))
	ctx, cancel := context.WithCancel(context.Background())

	if err := rt.RegisterController(&controller.Reconciler{
		ControllerName: "Once",
		Reconcile: func(context.Context, controller.Runtime, *slog.Logger) error {
			cancel()

			return nil
		},
	}); err != nil {
		panic(err)
	}

	if err := rt.Run(ctx); err != nil {
		panic(err)
	}

	for _, span := range recorder.Ended() {
		fmt.Println(span.Name())
	}
	// Output: Once reconcile
}
