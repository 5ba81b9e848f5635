// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBareInstance checks that a minimal instance has metadata, and no user data, on every platform.
func TestBareInstance(t *testing.T) {
	for _, platform := range Platforms() {
		for name, addrs := range map[string][]netip.Prefix{
			"no address": nil, "IPv4": {netip.MustParsePrefix("10.5.0.2/24")}, "IPv6": {netip.MustParsePrefix("fd05::2/64")},
		} {
			server, err := New([]Instance{{
				Platform: platform, Name: "node-1", Cards: []Card{{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}, Addrs: addrs}},
			}})
			if err != nil {
				t.Fatal(err)
			}

			for path, doc := range server.instances["node-1"].docs {
				if strings.Contains(path, "user-data") || strings.Contains(path, "userdata") || strings.Contains(path, "cloud-init") {
					t.Errorf("%s, %s: %s is %q, want none", platform, name, path, doc.body)
				}
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, in := range map[string]Instance{
		`instance a: platform "vmware" has no metadata server`: {Name: "a", Platform: "vmware", Cards: make([]Card, 1)},
		"instance b: no network card":                          {Name: "b", Platform: "aws"},
	} {
		if _, err := New([]Instance{in}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// TestTokens checks that a token is valid only for its instance, and expires.
func TestTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := testInstance("aws")
		other.Name = "node-2"

		server, err := New([]Instance{testInstance("aws"), other})
		if err != nil {
			t.Fatal(err)
		}

		given := do(server, ask{request: "PUT " + aws.token.path, headers: []string{aws.token.ttlHeader + ": 60"}})
		status := func(instance string) int {
			r := httptest.NewRequest(http.MethodGet, "/latest/user-data", nil)
			r.Header.Set(aws.token.header, given.Body.String())

			w := httptest.NewRecorder()
			server.Serve(w, r, instance)

			return w.Code
		}

		if got := status("node-1"); got != http.StatusOK {
			t.Errorf("got status %d, want 200", got)
		}

		if got := status("node-2"); got != http.StatusUnauthorized {
			t.Errorf("another's token: got status %d, want 401", got)
		}

		time.Sleep(time.Minute)

		if got := status("node-1"); got != http.StatusUnauthorized {
			t.Errorf("old token: got status %d, want 401", got)
		}

		if got := do(server, ask{request: "PUT " + aws.token.path, headers: []string{aws.token.ttlHeader + ": 60"}}); got.Code != http.StatusOK {
			t.Errorf("got status %d, want 200", got.Code)
		}

		if got := len(server.tokens.given); got != 1 {
			t.Errorf("got %d tokens kept, want the new one only", got)
		}
	})
}

// TestTokensAreBounded checks that a machine cannot fill the memory with tokens.
func TestTokensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := New([]Instance{testInstance("aws")})
		if err != nil {
			t.Fatal(err)
		}

		give := func() int {
			return do(server, ask{request: "PUT " + aws.token.path, headers: []string{aws.token.ttlHeader + ": 60"}}).Code
		}

		for range tokenLimit {
			if got := give(); got != http.StatusOK {
				t.Fatalf("got status %d, want 200", got)
			}
		}

		if got := give(); got != http.StatusTooManyRequests {
			t.Errorf("one too many: got status %d, want 429", got)
		}

		time.Sleep(time.Minute)

		if got := give(); got != http.StatusOK {
			t.Errorf("after the others ended: got status %d, want 200", got)
		}
	})
}

// FuzzServe checks that no request crashes a server.
func FuzzServe(f *testing.F) {
	f.Add("gcp", "/computeMetadata/v1/instance/network-interfaces/9?recursive=true", "Google")
	f.Add("azure", "/metadata/instance/network/interface/x?api-version=1", "true")
	f.Add("openstack", "/openstack/2018-08-27", "")

	f.Fuzz(func(t *testing.T, platform, target, header string) {
		server, err := New([]Instance{testInstance(platform)})
		if err != nil {
			return
		}

		r, err := http.NewRequest(http.MethodGet, "http://169.254.169.254"+target, nil)
		if err != nil || r.URL.Host != "169.254.169.254" {
			return
		}

		r.Header.Set(gcpHeader, header)
		r.Header.Set("Metadata", header)
		r.RemoteAddr = "10.5.0.2:1"

		w := httptest.NewRecorder()
		server.Serve(w, r, "node-1")

		if w.Code < 200 || w.Code > 499 {
			t.Errorf("got status %d for %s", w.Code, target)
		}
	})
}
