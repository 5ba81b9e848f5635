// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/network"
)

func TestProbeState(t *testing.T) {
	broken := errors.New("broken")

	var s probeState

	for i, tt := range []struct {
		err     error
		changed bool
		want    string
	}{
		{broken, false, "false false "}, {broken, true, "true false broken"}, {broken, false, "true false broken"},
		{nil, true, "true true "}, {nil, false, "true true "}, {broken, false, "true true "}, {nil, false, "true true "},
		{broken, false, "true true "}, {broken, true, "true false broken"}, {errors.New("other"), true, "true false other"},
		{errors.New("read tcp 192.0.2.7:41234->192.0.2.1:443: reset"), true, "true false read tcp 192.0.2.1:443: reset"},
		{errors.New("read tcp 192.0.2.7:41236->192.0.2.1:443: reset"), false, "true false read tcp 192.0.2.1:443: reset"},
		{errors.New("read udp [::1]:41236->[::1]:53: timeout"), true, "true false read udp [::1]:53: timeout"},
	} {
		var changed bool

		s, changed = s.next(tt.err, 2)

		if got := fmt.Sprint(s.known, " ", s.status.Success, " ", s.status.LastError); got != tt.want || changed != tt.changed {
			t.Errorf("attempt %d: got %q, changed %t; want %q, %t", i, got, changed, tt.want, tt.changed)
		}
	}
}

// TestProbes: results are published, the machine's connection follows them, and a probe that is removed counts no more.
func TestProbes(t *testing.T) {
	var broken atomic.Bool

	once := func(_ context.Context, spec network.ProbeSpecSpec) error {
		if spec.TCP.Endpoint != "" && broken.Load() {
			return errors.New("connection refused")
		}

		return nil
	}

	m := newMachineWith(t, func(d *Deps) { d.ProbeOnce = once }, ethernet("eth0", 1))
	m.boot("")

	const probes = `version: v1alpha1
machine: {type: worker}
---
apiVersion: v1alpha1
kind: HTTPProbeConfig
name: proxy
url: https://proxy.example/healthz
interval: 100ms
`

	connected := func(want bool) {
		t.Helper()

		await(m, "", network.StatusID, func(s network.StatusSpec) bool { return s.ConnectivityReady == want })
	}

	connected(false) // there is no default route

	m.configure(probes + "---\napiVersion: v1alpha1\nkind: TCPProbeConfig\nname: registry\nendpoint: registry.example:443\ninterval: 100ms\nfailureThreshold: 2\n")

	spec := await[network.ProbeSpecSpec](m, "", "tcp:registry.example:443", nil)
	if spec.FailureThreshold != 2 || spec.Interval != 100*time.Millisecond || spec.TCP.Timeout != 10*time.Second {
		t.Errorf("got %+v", spec)
	}

	await(m, "", "http:https://proxy.example/healthz", func(s network.ProbeStatusSpec) bool { return s.Success })
	await(m, "", "tcp:registry.example:443", func(s network.ProbeStatusSpec) bool { return s.Success })
	connected(true)

	broken.Store(true)
	await(m, "", "tcp:registry.example:443", func(s network.ProbeStatusSpec) bool { return !s.Success && s.LastError == "connection refused" })
	connected(false)

	m.configure(probes)
	awaitGone[network.ProbeStatusSpec](m, "", "tcp:registry.example:443")
	connected(true)
}

// TestProbeOnce makes attempts over real connections.
func TestProbeOnce(t *testing.T) {
	status := http.StatusOK

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://192.0.2.1/")
		w.WriteHeader(status)
	}))
	defer s.Close()

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	_ = closed.Close()

	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()

	get := func(url string) network.ProbeSpecSpec {
		return network.ProbeSpecSpec{HTTP: network.HTTPProbeSpec{URL: network.URL{FullPath: url}, Timeout: 200 * time.Millisecond}}
	}
	dial := func(at string) network.ProbeSpecSpec {
		return network.ProbeSpecSpec{TCP: network.TCPProbeSpec{Endpoint: at, Timeout: 200 * time.Millisecond}}
	}

	for _, tt := range []struct {
		name   string
		spec   network.ProbeSpecSpec
		status int
		want   string
	}{
		{"TCP", dial(deaf.Addr().String()), 0, ""},
		{"TCP, refused", dial(closed.Addr().String()), 0, "refused"},
		{"HTTP", get(s.URL), 200, ""},
		{"HTTP, redirected", get(s.URL), 302, ""},
		{"HTTP, not found", get(s.URL), 404, "status 404"},
		{"HTTP, failed", get(s.URL), 503, "status 503"},
		{"HTTP, refused", get("http://" + closed.Addr().String()), 0, "refused"},
		{"HTTP, silent", get("http://" + deaf.Addr().String()), 0, "deadline exceeded"},
		{"HTTPS, to HTTP", get(strings.Replace(s.URL, "http:", "https:", 1)), 200, "HTTP"},
	} {
		if tt.status != 0 {
			status = tt.status
		}

		err := probeOnce(t.Context(), tt.spec)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestProbeProxy: an HTTP probe takes the proxy that the environment has now.
func TestProbeProxy(t *testing.T) {
	asked := ""

	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.String() }))
	defer proxy.Close()

	const url = "http://192.0.2.1/healthz"

	for _, name := range []string{"http_proxy", "NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}

	t.Setenv("HTTP_PROXY", proxy.URL)

	spec := network.ProbeSpecSpec{HTTP: network.HTTPProbeSpec{URL: network.URL{FullPath: url}, Timeout: 10 * time.Second}}
	if err := probeOnce(t.Context(), spec); err != nil || asked != url {
		t.Errorf("the proxy was asked for %q, %v", asked, err)
	}
}
