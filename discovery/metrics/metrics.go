// SPDX-License-Identifier: Apache-2.0

// Package metrics are the Prometheus metrics of a discovery service, with the names that dashboards of existing services use.
package metrics

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/discovery/server"
)

// Metrics are the metrics that calls and snapshots count. Those of the state are read from the service.
type Metrics struct {
	hellos                           *prometheus.CounterVec
	versions                         *versions
	started, handled, received, sent *prometheus.CounterVec
	handling                         *prometheus.HistogramVec
	operations                       *prometheus.CounterVec
	size                             *prometheus.GaugeVec
	clusters, affiliates, endpoints  *prometheus.GaugeVec
	duration                         *prometheus.GaugeVec
}

// buckets of the time that calls take, in seconds.
var buckets = []float64{0.01, 0.1, 0.25, 0.5, 1, 2.5}

// New returns metrics that are registered.
func New(r prometheus.Registerer) *Metrics {
	call := []string{"grpc_type", "grpc_service", "grpc_method"}

	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(c)

		return c
	}

	gauge := func(name, help string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "discovery_storage_" + name, Help: help}, []string{"operation"})
		r.MustRegister(g)

		return g
	}

	m := &Metrics{
		versions:   &versions{known: map[string]bool{}},
		hellos:     counter("discovery_server_hello_requests_total", "Calls of Hello, by version of the client.", "client_version"),
		started:    counter("grpc_server_started_total", "Calls that have started.", call...),
		handled:    counter("grpc_server_handled_total", "Calls that have ended.", append(call, "grpc_code")...),
		received:   counter("grpc_server_msg_received_total", "Messages of callers.", call...),
		sent:       counter("grpc_server_msg_sent_total", "Messages to callers.", call...),
		operations: counter("discovery_storage_operations_total", "Snapshots that were saved or loaded.", "operation", "status"),
		size:       gauge("last_snapshot_size_bytes", "Size of the last snapshot."),
		clusters:   gauge("last_operation_clusters", "Clusters in the last snapshot."),
		affiliates: gauge("last_operation_affiliates", "Affiliates in the last snapshot."),
		endpoints:  gauge("last_operation_endpoints", "Endpoints in the last snapshot."),
		duration:   gauge("last_operation_duration_seconds", "How long the last snapshot took."),
		handling: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "How long calls take.", Buckets: buckets,
		}, call),
	}
	r.MustRegister(m.handling)

	return m
}

var version = regexp.MustCompile(`^(v[0-9]+\.[0-9]+)\.[0-9]+(-.+)?$`)

// unknown is the version of clients that do not say one, or one too many.
const unknown = "unknown"

// versions are those that are counted. Any client can say any version, and each is a line of the metrics for ever.
type versions struct {
	mu    sync.Mutex
	known map[string]bool
}

// maxVersions is how many versions are told apart.
const maxVersions = 100

func (v *versions) of(text string) string {
	text = Version(text)

	v.mu.Lock()
	defer v.mu.Unlock()

	if !v.known[text] && len(v.known) >= maxVersions || len(text) > 32 {
		return unknown
	}

	v.known[text] = true

	return text
}

// Version returns the version of a client without its last part.
func Version(text string) string {
	found := version.FindStringSubmatch(text)

	switch {
	case found == nil:
		return unknown
	case found[2] != "":
		return found[1] + "-pre"
	default:
		return found[1]
	}
}

// Hello counts a call of Hello.
func (m *Metrics) Hello(clientVersion string) {
	m.hellos.WithLabelValues(m.versions.of(clientVersion)).Inc()
}

// Snapshot records that a snapshot was saved or loaded.
func (m *Metrics) Snapshot(operation string, n server.SnapshotCounts, took time.Duration, err error) {
	if err != nil {
		m.operations.WithLabelValues(operation, "error").Inc()

		return
	}

	m.operations.WithLabelValues(operation, "success").Inc()
	m.size.WithLabelValues(operation).Set(float64(n.Bytes))
	m.clusters.WithLabelValues(operation).Set(float64(n.Clusters))
	m.affiliates.WithLabelValues(operation).Set(float64(n.Affiliates))
	m.endpoints.WithLabelValues(operation).Set(float64(n.Endpoints))
	m.duration.WithLabelValues(operation).Set(took.Seconds())
}

// call is one call.
type call struct {
	m      *Metrics
	labels []string
	start  time.Time
}

func (m *Metrics) start(kind, method string) *call {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	c := &call{m: m, labels: []string{kind, service, name}, start: time.Now()}
	m.started.WithLabelValues(c.labels...).Inc()

	return c
}

func (c *call) end(err error) {
	c.m.handling.WithLabelValues(c.labels...).Observe(time.Since(c.start).Seconds())
	c.m.handled.WithLabelValues(append(c.labels, status.Code(err).String())...).Inc()
}

// Unary counts calls.
func (m *Metrics) Unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c := m.start("unary", info.FullMethod)
	m.received.WithLabelValues(c.labels...).Inc()

	out, err := next(ctx, in)
	if err == nil {
		m.sent.WithLabelValues(c.labels...).Inc()
	}

	c.end(err)

	return out, err
}

// Stream counts watches and their messages.
func (m *Metrics) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	c := m.start("server_stream", info.FullMethod)
	err := next(srv, &counted{
		ServerStream: stream, received: m.received.WithLabelValues(c.labels...), sent: m.sent.WithLabelValues(c.labels...),
	})
	c.end(err)

	return err
}

// counted is a stream whose messages are counted.
type counted struct {
	grpc.ServerStream

	received, sent prometheus.Counter
}

// SendMsg implements grpc.ServerStream.
func (c *counted) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	if err == nil {
		c.sent.Inc()
	}

	return err
}

// RecvMsg implements grpc.ServerStream.
func (c *counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.received.Inc()
	}

	return err
}
