// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-59268b81/talos/discovery/server"
)

// State are the metrics of what a service holds.
type State struct{ Counts func() server.Counts }

// state is one of them, and how it is read.
type state struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(server.Counts) float64
}

// states are the metrics.
var states = []state{
	gauge("clusters", "Clusters.", func(n server.Counts) float64 { return float64(n.Clusters) }),
	gauge("affiliates", "Affiliates of all clusters.", func(n server.Counts) float64 { return float64(n.Affiliates) }),
	gauge("endpoints", "Endpoints of all affiliates.", func(n server.Counts) float64 { return float64(n.Endpoints) }),
	gauge("subscriptions", "Watches.", func(n server.Counts) float64 { return float64(n.Watches) }),
	counter("gc_runs_total", "How often what has expired was removed.", func(n server.Counts) float64 { return float64(n.Sweeps) }),
	counter("gc_clusters_total", "Clusters that were removed.", func(n server.Counts) float64 { return float64(n.RemovedClusters) }),
	counter("gc_affiliates_total", "Affiliates that have expired.", func(n server.Counts) float64 { return float64(n.RemovedAffiliates) }),
}

func gauge(name, help string, of func(server.Counts) float64) state {
	return state{prometheus.NewDesc("discovery_state_"+name, help, nil, nil), prometheus.GaugeValue, of}
}

func counter(name, help string, of func(server.Counts) float64) state {
	return state{prometheus.NewDesc("discovery_state_"+name, help, nil, nil), prometheus.CounterValue, of}
}

// Describe implements prometheus.Collector.
func (State) Describe(out chan<- *prometheus.Desc) {
	for _, s := range states {
		out <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (c State) Collect(out chan<- prometheus.Metric) {
	n := c.Counts()

	for _, s := range states {
		out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(n))
	}
}
