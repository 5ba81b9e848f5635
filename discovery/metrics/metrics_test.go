// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/metrics"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"": "unknown", "v0.13.0": "v0.13", "v0.13.0-beta.0": "v0.13-pre", "v0.14.0-alpha.0-7-gf7d9f211-dirty": "v0.14-pre", "v1.2": "unknown",
		"v1.2.3\nx": "unknown",
	} {
		if got := metrics.Version(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestVersions: clients that say many versions do not fill the memory.
func TestVersions(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry)

	m.Hello("v1.2.3")

	for i := range 1000 {
		m.Hello(fmt.Sprintf("v1.%d.0", i))
		m.Hello("v" + strings.Repeat("1", 40+i) + ".0.0")
	}

	m.Hello("v1.2.4")

	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range families {
		if f.GetName() != "discovery_server_hello_requests_total" {
			continue
		}

		if n := len(f.GetMetric()); n > 101 || n < 50 {
			t.Errorf("%d versions are counted, want the first 100", n)
		}

		for _, one := range f.GetMetric() {
			if one.GetLabel()[0].GetValue() == "v1.2" && one.GetCounter().GetValue() != 3 {
				t.Errorf("v1.2 has %v, want 3", one.GetCounter().GetValue())
			}
		}
	}
}

// TestMetrics makes calls over a connection and reads what they have counted.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry)
	s := server.New(server.Options{ClientVersion: m.Hello}, slog.New(slog.DiscardHandler))
	registry.MustRegister(metrics.State{Counts: s.Counts})

	listener := bufconn.Listen(64 << 10)
	g := grpc.NewServer(append(server.ServerOptions(), grpc.ChainUnaryInterceptor(m.Unary), grpc.ChainStreamInterceptor(m.Stream))...)
	s.Register(g)

	served := make(chan error, 1)

	go func() { served <- g.Serve(listener) }()

	t.Cleanup(func() { g.Stop(); <-served })

	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	api := serverapi.NewClusterClient(conn)

	if _, err := api.Hello(t.Context(), &serverapi.HelloRequest{ClusterId: "c", ClientVersion: "v1.2.3"}); err != nil {
		t.Fatal(err)
	}

	if _, err := api.Hello(t.Context(), &serverapi.HelloRequest{}); err == nil {
		t.Fatal("an empty cluster id was accepted")
	}

	if _, err := api.AffiliateUpdate(t.Context(), &serverapi.AffiliateUpdateRequest{
		ClusterId: "c", AffiliateId: "a", AffiliateData: []byte("x"), AffiliateEndpoints: [][]byte{{1}, {2}}, Ttl: durationpb.New(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}

	watch, err := api.Watch(t.Context(), &serverapi.WatchRequest{ClusterId: "c"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}

	m.Snapshot("save", server.SnapshotCounts{Clusters: 1, Affiliates: 2, Endpoints: 3, Bytes: 4}, time.Second, nil)
	m.Snapshot("load", server.SnapshotCounts{}, time.Second, errors.New("damaged"))

	want := `
# HELP discovery_server_hello_requests_total Calls of Hello, by version of the client.
# TYPE discovery_server_hello_requests_total counter
discovery_server_hello_requests_total{client_version="unknown"} 1
discovery_server_hello_requests_total{client_version="v1.2"} 1
# HELP discovery_state_affiliates Affiliates of all clusters.
# TYPE discovery_state_affiliates gauge
discovery_state_affiliates 1
# HELP discovery_state_endpoints Endpoints of all affiliates.
# TYPE discovery_state_endpoints gauge
discovery_state_endpoints 2
# HELP discovery_state_subscriptions Watches.
# TYPE discovery_state_subscriptions gauge
discovery_state_subscriptions 1
# HELP discovery_storage_operations_total Snapshots that were saved or loaded.
# TYPE discovery_storage_operations_total counter
discovery_storage_operations_total{operation="load",status="error"} 1
discovery_storage_operations_total{operation="save",status="success"} 1
# HELP grpc_server_handled_total Calls that have ended.
# TYPE grpc_server_handled_total counter
grpc_server_handled_total{grpc_code="InvalidArgument",grpc_method="Hello",grpc_service="sidero.discovery.server.Cluster",grpc_type="unary"} 1
grpc_server_handled_total{grpc_code="OK",grpc_method="AffiliateUpdate",grpc_service="sidero.discovery.server.Cluster",grpc_type="unary"} 1
grpc_server_handled_total{grpc_code="OK",grpc_method="Hello",grpc_service="sidero.discovery.server.Cluster",grpc_type="unary"} 1
`

	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))

	got := w.Body.String()

	for line := range strings.Lines(want) {
		if line != "\n" && !strings.Contains(got, line) {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
}
