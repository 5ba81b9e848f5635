// SPDX-License-Identifier: Apache-2.0

package cosiprom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cosiprom"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
)

type hostSpec struct {
	Name string `yaml:"name" protobuf:"1"`
}

var hostDefinition = &resource.Definition{Type: "Hosts.example.org", DefaultNamespace: "default"}

func (hostSpec) Definition() *resource.Definition { return hostDefinition }

// values returns all metrics by name and labels; for a histogram the number of observations.
func values(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()

	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]float64{}

	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}

			var v float64

			switch f.GetType() { // there are no other types
			case dto.MetricType_COUNTER:
				v = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				v = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				v = float64(m.GetHistogram().GetSampleCount())
			}

			if v != 0 {
				out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = v
			}
		}
	}

	return out
}

func TestMetrics(t *testing.T) { synctest.Test(t, testMetrics) }

func testMetrics(t *testing.T) {
	metrics := cosiprom.New()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)

	st := metrics.State(memory.New())
	if _, ok := st.(state.Notifier); !ok {
		t.Error("the store cannot notify any more")
	}

	rt := runtime.New(st, slog.New(slog.DiscardHandler), runtime.WithObserver(metrics.Observe))
	metrics.Follow(rt)

	ctx, cancel := context.WithCancel(t.Context())

	if err := rt.RegisterQueueController(controller.QueueReconciler[hostSpec]{
		ControllerName: "Hosts",
		Reconcile: func(_ context.Context, _ controller.Access, _ *slog.Logger, r *resource.Typed[hostSpec]) error {
			switch r.Metadata().ID() {
			case "bad":
				return errors.New("bad")
			case "worse":
				panic("worse")
			case "skipped":
				return controller.ErrSkip
			}

			return nil
		},
	}.Controller()); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"bad", "good", "skipped", "worse"} {
		if err := typed.Set(ctx, st, "", id, hostSpec{}); err != nil {
			t.Fatal(err)
		}
	}

	done := make(chan error, 1)

	go func() { done <- rt.Run(ctx) }()

	synctest.Wait()

	if got := values(t, registry)["cosi_state_watches{type=Hosts.example.org}"]; got != 1 {
		t.Errorf("got %v open watches, want that of the controller", got)
	}

	cancel()

	if err := <-done; err != nil {
		t.Fatal(err)
	}

	want := map[string]float64{
		"cosi_controller_crashes_total{controller=Hosts}":   2,
		"cosi_controller_processed_total{controller=Hosts}": 4,
		"cosi_controller_queue_length{controller=Hosts}":    2, // failed ones wait for another attempt
		"cosi_controller_reads_total{controller=Hosts}":     4,
		"cosi_controller_skips_total{controller=Hosts}":     1,
	}

	for outcome, n := range map[runtime.Outcome]float64{runtime.Done: 1, runtime.Failed: 2, runtime.Skipped: 1} {
		want[fmt.Sprintf("cosi_controller_round_duration_seconds{controller=Hosts,mapping=false,outcome=%s}", outcome)] = n
	}

	for verb, n := range map[string]float64{"get": 4, "list": 1, "watch": 1, "create": 4, "update": 4} {
		want[fmt.Sprintf("cosi_state_requests_total{type=Hosts.example.org,verb=%s}", verb)] = n
	}

	if diff := cmp.Diff(want, values(t, registry)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestOpenWatches counts watches of each form until their contexts end, and none that could not begin.
func TestOpenWatches(t *testing.T) { synctest.Test(t, testOpenWatches) }

func testOpenWatches(t *testing.T) {
	metrics := cosiprom.New()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)

	st, kind := metrics.State(memory.New()), resource.Kind{Namespace: "default", Type: hostDefinition.Type}
	events, batches := make(chan state.Event, 1), make(chan []state.Event, 1)
	ctx, cancel := context.WithCancel(t.Context())

	for _, err := range []error{
		st.Watch(ctx, kind.Pointer("a"), events),
		st.WatchKind(ctx, kind, events),
		st.WatchKindAggregated(ctx, kind, batches),
		state.Notify(ctx, st, kind, func(*state.Event) {}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := st.WatchKind(ctx, kind, events, state.WithKindStartFromBookmark(state.Bookmark("of another store"))); err == nil {
		t.Error("a watch from a bookmark of another store began")
	}

	open := func() float64 { return values(t, registry)["cosi_state_watches{type="+kind.Type+"}"] }

	if got := open(); got != 4 {
		t.Errorf("got %v open watches, want 4", got)
	}

	cancel()
	synctest.Wait()

	if got := open(); got != 0 {
		t.Errorf("got %v open watches after the end of their context, want none", got)
	}
}

// TestManyTypes: requests for ever new types do not fill the memory.
func TestManyTypes(t *testing.T) {
	const most, asked = 1000, 1500

	metrics := cosiprom.New()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)

	st := metrics.State(memory.New())

	for i := range asked {
		if _, err := st.List(t.Context(), resource.Kind{Type: fmt.Sprint("t", i)}); err != nil {
			t.Fatal(err)
		}
	}

	got := values(t, registry)
	if len(got) != most+1 || got["cosi_state_requests_total{type=other,verb=list}"] != asked-most {
		t.Errorf("got %d series, %v of them of others, want %d and %d", len(got), got["cosi_state_requests_total{type=other,verb=list}"], most+1, asked-most)
	}
}

func ExampleMetrics() {
	metrics := cosiprom.New()
	rt := runtime.New(metrics.State(memory.New()), slog.New(slog.DiscardHandler), runtime.WithObserver(metrics.Observe))
	metrics.Follow(rt)

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	if err := rt.RegisterController(&controller.Reconciler{
		ControllerName: "Idle",
		Reconcile:      func(context.Context, controller.Runtime, *slog.Logger) error { return nil },
	}); err != nil {
		panic(err)
	}

	families, err := registry.Gather() // or serve it with promhttp
	if err != nil {
		panic(err)
	}

	for _, f := range families[:3] {
		fmt.Println(f.GetName(), f.GetMetric()[0].GetLabel()[0].GetValue(), f.GetMetric()[0].GetCounter().GetValue())
	}
	// Output:
	// cosi_controller_crashes_total Idle 0
	// cosi_controller_finished Idle 0
	// cosi_controller_mapped_total Idle 0
}
