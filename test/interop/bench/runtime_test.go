// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/controller"
	"github.com/cosi-project/runtime/pkg/controller/runtime"
	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/conformance"
	"go.uber.org/zap"
)

// waking reports when it is woken.
type waking struct{ woken chan struct{} }

func (*waking) Name() string { return "Waking" }

func (*waking) Inputs() []controller.Input {
	return []controller.Input{{Namespace: "default", Type: conformance.PathResourceType, Kind: controller.InputWeak}}
}

func (*waking) Outputs() []controller.Output { return nil }

func (w *waking) Run(ctx context.Context, rt controller.Runtime, _ *zap.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.EventCh():
			w.woken <- struct{}{}
		}
	}
}

func run(b *testing.B, st state.State, register func(rt *runtime.Runtime) error) {
	b.Helper()

	rt, err := runtime.NewRuntime(st, zap.NewNop())
	ok(b, err)
	ok(b, register(rt))

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})

	go func() {
		defer close(done)

		rt.Run(ctx)
	}()

	b.Cleanup(func() {
		cancel()
		<-done
	})
}

// BenchmarkReconcileLatency is the time from a change until the controller reads it.
func BenchmarkReconcileLatency(b *testing.B) {
	st := newState()
	r := newPath("a")
	ok(b, st.Create(context.Background(), r))

	w := &waking{woken: make(chan struct{}, 1)}
	run(b, st, func(rt *runtime.Runtime) error { return rt.RegisterController(w) })
	<-w.woken
	time.Sleep(100 * time.Millisecond)

	var times []time.Duration

	for b.Loop() {
		start := time.Now()

		ok(b, st.Update(context.Background(), r))
		<-w.woken

		times = append(times, time.Since(start))
	}

	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
}

// counting counts its reconciliations.
type counting struct {
	want  int64
	seen  atomic.Int64
	done  chan struct{}
	kinds controller.Input
}

func (*counting) Name() string { return "Counting" }

func (c *counting) Settings() controller.QSettings {
	return controller.QSettings{Inputs: []controller.Input{c.kinds}}
}

func (c *counting) Reconcile(context.Context, *zap.Logger, controller.QRuntime, resource.Pointer) error {
	if c.seen.Add(1) == c.want {
		close(c.done)
	}

	return nil
}

func (*counting) MapInput(context.Context, *zap.Logger, controller.QRuntime, controller.ReducedResourceMetadata) ([]resource.Pointer, error) {
	return nil, nil
}

// BenchmarkStartup100k is the start of a runtime with one queue controller and 100,000 inputs, until all are reconciled.
func BenchmarkStartup100k(b *testing.B) {
	const n = 100_000

	st := newState()
	filled(b, st, n)

	for b.Loop() {
		c := &counting{want: n, done: make(chan struct{}), kinds: controller.Input{Namespace: "default", Type: conformance.PathResourceType, Kind: controller.InputQPrimary}}
		run(b, st, func(rt *runtime.Runtime) error { return rt.RegisterQController(c) })
		<-c.done
	}
}
