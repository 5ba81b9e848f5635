// SPDX-License-Identifier: Apache-2.0

// Package cosiprom has metrics of controllers and stores for Prometheus:
//
//	metrics := cosiprom.New()
//	rt := runtime.New(metrics.State(st), log, runtime.WithObserver(metrics.Observe))
//	metrics.Follow(rt)
//	registry.MustRegister(metrics)
//
// The core of the library does not depend on it. Counters are read when Prometheus collects them; only rounds are measured
// as they happen.
package cosiprom

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-59268b81/talos/cosi/access"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Metrics is a collector for any number of runtimes and stores.
type Metrics struct {
	rounds   *prometheus.HistogramVec
	requests *prometheus.CounterVec
	watches  *prometheus.GaugeVec

	mu       sync.Mutex
	runtimes []*runtime.Runtime
	types    map[string]bool // seen in requests
}

// mostTypes limits the values of the label type. Clients of a server may request types that do not exist, and a metric is
// never removed.
const mostTypes = 1000

var _ prometheus.Collector = (*Metrics)(nil)

// New returns metrics without runtimes and stores.
func New() *Metrics {
	return &Metrics{
		types: map[string]bool{},
		rounds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cosi_controller_round_duration_seconds",
			Help:    "Time of one round of a controller, by outcome; mapping is true for MapInput, false for Reconcile.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // 100 µs to 26 s
		}, []string{"controller", "mapping", "outcome"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cosi_state_requests_total",
			Help: "Calls of a store, by verb and type of resource (the first 1,000). Finalizers are an update, teardown is a destroy.",
		}, []string{"verb", "type"}),
		watches: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cosi_state_watches",
			Help: "Open watches of a store, by type of resource (the first 1,000): those whose context has not ended.",
		}, []string{"type"}),
	}
}

// Follow adds the counters of a runtime.
func (m *Metrics) Follow(rt *runtime.Runtime) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.runtimes = append(m.runtimes, rt)
}

// Observe is a runtime.Observer that times rounds.
func (m *Metrics) Observe(ctx context.Context, r runtime.Round) (context.Context, func(error)) {
	start := time.Now()

	mapping := "false"
	if r.Mapping {
		mapping = "true"
	}

	return ctx, func(err error) {
		m.rounds.WithLabelValues(r.Controller, mapping, string(runtime.OutcomeOf(err))).Observe(time.Since(start).Seconds())
	}
}

// State returns a state that counts the calls and the watches of st.
func (m *Metrics) State(st state.State) state.State {
	return watched{access.New(st, func(_ context.Context, a access.Attempt) error {
		m.requests.WithLabelValues(a.Verb.String(), m.label(a.Type)).Inc()

		return nil
	}), m}
}

// watched counts the watches of a state.
type watched struct {
	state.State
	metrics *Metrics
}

var (
	_ state.State    = watched{}
	_ state.Notifier = watched{}
)

// open counts a watch until its context ends, unless it could not begin.
func (w watched) open(ctx context.Context, typ string, err error) error {
	if err == nil {
		gauge := w.metrics.watches.WithLabelValues(w.metrics.label(typ))
		gauge.Inc()
		context.AfterFunc(ctx, gauge.Dec)
	}

	return err
}

// Watch implements state.Watcher.
func (w watched) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	return w.open(ctx, ptr.Type, w.State.Watch(ctx, ptr, ch, opts...))
}

// WatchKind implements state.Watcher.
func (w watched) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return w.open(ctx, kind.Type, w.State.WatchKind(ctx, kind, ch, opts...))
}

// WatchKindAggregated implements state.Watcher.
func (w watched) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return w.open(ctx, kind.Type, w.State.WatchKindAggregated(ctx, kind, ch, opts...))
}

// Notify implements state.Notifier.
func (w watched) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	return w.open(ctx, kind.Type, state.Notify(ctx, w.State, kind, fn))
}

// label returns the type, or "other" when there are too many types.
func (m *Metrics) label(typ string) string {
	m.mu.Lock()
	defer m.mu.Unlock()

	switch {
	case m.types[typ]:
		return typ
	case len(m.types) >= mostTypes:
		return "other"
	}

	m.types[typ] = true

	return typ
}

// metric is one value of each controller.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(runtime.Metrics) float64
}

func counter(name, help string, value func(runtime.Metrics) uint64) metric {
	return metric{describe(name, help), prometheus.CounterValue, func(m runtime.Metrics) float64 { return float64(value(m)) }}
}

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("cosi_controller_"+name, help, []string{"controller"}, nil)
}

var ofControllers = []metric{
	counter("wakeups_total", "Wake-ups of a controller.", func(m runtime.Metrics) uint64 { return m.Wakeups }),
	counter("crashes_total", "Errors and panics of a controller.", func(m runtime.Metrics) uint64 { return m.Crashes }),
	counter("reads_total", "Reads by a controller.", func(m runtime.Metrics) uint64 { return m.Reads }),
	counter("writes_total", "Writes by a controller, including those that changed nothing.", func(m runtime.Metrics) uint64 { return m.Writes }),
	counter("processed_total", "Resources that a queue controller has processed.", func(m runtime.Metrics) uint64 { return m.Processed }),
	counter("requeues_total", "Resources that a queue controller has put back.", func(m runtime.Metrics) uint64 { return m.Requeues }),
	counter("skips_total", "Resources that a queue controller has skipped.", func(m runtime.Metrics) uint64 { return m.Skips }),
	counter("mapped_total", "Resources that a queue controller has mapped.", func(m runtime.Metrics) uint64 { return m.Mapped }),
	{
		describe("queue_length", "Resources in the queue of a controller, including delayed ones."), prometheus.GaugeValue,
		func(m runtime.Metrics) float64 { return float64(m.QueueLength) },
	},
	{
		describe("finished", "1 when the controller has ended and will not run again."), prometheus.GaugeValue,
		func(m runtime.Metrics) float64 {
			if m.Finished {
				return 1
			}

			return 0
		},
	},
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.rounds.Describe(ch)
	m.requests.Describe(ch)
	m.watches.Describe(ch)

	for _, c := range ofControllers {
		ch <- c.desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.rounds.Collect(ch)
	m.requests.Collect(ch)
	m.watches.Collect(ch)

	m.mu.Lock()
	runtimes := m.runtimes
	m.mu.Unlock()

	for _, rt := range runtimes {
		for _, of := range rt.Metrics() {
			for _, c := range ofControllers {
				ch <- prometheus.MustNewConstMetric(c.desc, c.kind, c.value(of), of.Controller)
			}
		}
	}
}
