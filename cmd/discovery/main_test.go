// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/discovery/metrics"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// parse returns the options of a command line.
func parse(t testing.TB, args ...string) options {
	t.Helper()

	var o options

	set := flag.NewFlagSet("discovery", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	o.flags(set)

	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}

	return o
}

// free returns an address that nothing listens on.
func free(t testing.TB) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	return l.Addr().String()
}

// service is a running service.
type service struct {
	addr, landing, metrics string
	stop                   func()
}

// start runs the service until the test ends or stop is called.
func start(t testing.TB, args ...string) service {
	t.Helper()

	s := service{addr: free(t), landing: free(t), metrics: free(t)}
	o := parse(t, append([]string{"-addr", s.addr, "-landing-addr", s.landing, "-metrics-addr", s.metrics}, args...)...)

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- run(ctx, o, slog.New(slog.DiscardHandler)) }()

	stopped := false
	s.stop = func() {
		if stopped {
			return
		}

		stopped = true

		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(s.stop)

	for {
		if conn, err := net.Dial("tcp", s.addr); err == nil {
			conn.Close()

			return s
		}

		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// session runs a client until the test ends.
func session(t testing.TB, o client.Options) *client.Session {
	t.Helper()

	o.Name, o.ClusterID, o.Key, o.ClientVersion = "test", "cluster", bytes.Repeat([]byte{1}, 32), "v1.2.3"
	s := client.New(o, slog.New(slog.DiscardHandler))

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- s.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	s.Publish(&client.Local{Affiliate: &clientapi.Affiliate{NodeId: o.AffiliateID}})
	s.SetWatch(true)

	return s
}

func await(t testing.TB, s *client.Session, what string, ok func(*client.View) bool) {
	t.Helper()

	timeout := time.After(time.Minute)

	for !ok(s.View()) {
		select {
		case <-s.Changed():
		case <-timeout:
			t.Fatalf("still waiting for %s, with %+v", what, s.View())
		}
	}
}

func knows(n int) func(*client.View) bool {
	return func(v *client.View) bool { return v.Complete && len(v.Affiliates) == n }
}

func get(t testing.TB, c *http.Client, url string) string {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	answer, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, answer.Status, err)
	}

	return string(body)
}

// browser returns a client without idle connections, which a test would leave.
func browser(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config, ForceAttemptHTTP2: true}}
}

// TestService runs the service with and without TLS, with clients and web pages, and starts it again.
func TestService(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("secure=", secure), func(t *testing.T) {
			snapshot := filepath.Join(t.TempDir(), "folder", "state.binpb")
			args := []string{"-snapshot-path", snapshot}
			scheme := "http"

			var trusted *tls.Config

			if secure {
				scheme = "https"

				certificate, key, roots := files(t)
				args = append(args, "-certificate-path", certificate, "-key-path", key)
				trusted = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
			}

			s := start(t, args...)

			connect := func(id string) *client.Session {
				return session(t, client.Options{
					Endpoint: s.addr, AffiliateID: id, Insecure: !secure, TLS: func() *tls.Config { return trusted.Clone() },
				})
			}

			a, b := connect("a"), connect("b")
			await(t, a, "b", knows(1))
			await(t, b, "a", knows(1))

			for _, url := range []string{scheme + "://" + s.addr + "/stats", "http://" + s.landing + "/stats"} {
				if got := get(t, browser(trusted), url); got != "{\"affiliates\":2}\n" {
					t.Errorf("%s: %s", url, got)
				}
			}

			if got := get(t, browser(nil), "http://"+s.metrics+"/metrics"); !strings.Contains(got, `discovery_server_hello_requests_total{client_version="v1.2"} 2`) ||
				!strings.Contains(got, "discovery_state_affiliates 2") {
				t.Errorf("the metrics are\n%s", got)
			}

			s.stop()

			if info, err := os.Stat(snapshot); err != nil || info.Size() == 0 {
				t.Errorf("the snapshot: %v, %v", info, err)
			}

			again := start(t, args...)

			if got := get(t, browser(nil), "http://"+again.landing+"/stats"); got != "{\"affiliates\":2}\n" {
				t.Errorf("after a restart: %s", got)
			}
		})
	}
}

// files writes a certificate for 127.0.0.1 and its key, and returns the authority that signed it.
func files(t testing.TB) (certificate, key string, roots *x509.CertPool) {
	t.Helper()

	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(issue(t, certificate, key))

	return certificate, key, roots
}

// issue writes a certificate of a new authority.
func issue(t testing.TB, certificate, key string) (authority []byte) {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "discovery", IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	for path, text := range map[string][]byte{certificate: pair.Crt, key: pair.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return ca.PEM.Crt
}

// TestReload replaces the certificate while the service runs.
func TestReload(t *testing.T) {
	certificate, key, _ := files(t)
	s := start(t, "-snapshots-enabled=false", "-certificate-path", certificate, "-key-path", key)

	// Times of files may be coarse.
	authority := issue(t, certificate, key)
	later := time.Now().Add(time.Minute)

	for _, path := range []string{certificate, key} {
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)

	a := session(t, client.Options{Endpoint: s.addr, AffiliateID: "a", TLS: func() *tls.Config {
		return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	}})
	await(t, a, "the new certificate", knows(0))
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-trusted-proxies", ""}, ""},
		{[]string{"-trusted-proxies", "10.0.0.0/8, fd00::/8"}, ""},
		{[]string{"-trusted-proxies", "10.0.0.1"}, "-trusted-proxies"},
		{[]string{"-certificate-path", "x"}, "want both"},
		{[]string{"-rate", "0"}, "-rate"},
		{[]string{"-max-cluster-affiliates", "0"}, "-max-cluster-affiliates"},
		{[]string{"-host-connections", "0"}, "-host-connections"},
		{[]string{"-gc-interval", "0s"}, "-gc-interval"},
	} {
		o := parse(t, c.args...)

		if err := o.check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}

	taken := start(t, "-snapshots-enabled=false")
	if err := run(t.Context(), parse(t, "-addr", taken.addr, "-landing-addr", "", "-metrics-addr", ""), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two services have one address")
	}
}

// TestSnapshotsSoon checks that the file is written after a change, but not all the time.
func TestSnapshotsSoon(t *testing.T) {
	for _, c := range []struct {
		name          string
		since, took   time.Duration
		changed, want bool
	}{
		{"nothing new", time.Minute, time.Second, false, false},
		{"a change", 11 * time.Second, 0, true, true},
		{"a change, lately", 5 * time.Second, 0, true, false},
		{"a change in a large service", 15 * time.Second, time.Second, true, false},
		{"refreshes", 10 * time.Minute, 0, false, true},
	} {
		now := time.Now()
		s := &snapshots{options: parse(t), service: server.New(server.Options{}, slog.New(slog.DiscardHandler)), saved: now.Add(-c.since), took: c.took}

		if c.changed {
			s.changes = -1
		}

		if got := s.due(now); got != c.want {
			t.Errorf("%s: due %t, want %t", c.name, got, c.want)
		}
	}
}

// TestSnapshotFails: a file that was not saved is saved soon, not only after the next change.
func TestSnapshotFails(t *testing.T) {
	dir := t.TempDir()
	s := &snapshots{
		options: parse(t, "-snapshot-path", filepath.Join(dir, "file", "state")), service: server.New(server.Options{}, slog.New(slog.DiscardHandler)),
		counted: metrics.New(prometheus.NewRegistry()), log: slog.New(slog.DiscardHandler),
	}

	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := s.save(); err == nil {
		t.Fatal("a snapshot below a file is saved")
	}

	if !s.due(s.saved.Add(time.Minute)) || s.due(s.saved.Add(time.Second)) {
		t.Error("after a failure the file is not due within a minute, or all the time")
	}

	if err := os.Remove(filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}

	if err := s.save(); err != nil || s.due(s.saved.Add(time.Minute)) {
		t.Errorf("after a success the file is due, or not saved: %v", err)
	}
}
