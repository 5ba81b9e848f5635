// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProxy checks that only a request that permits it goes through the proxy of the environment, which may change.
func TestProxy(t *testing.T) {
	fetch := HTTP(nil)

	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")

		if _, err := w.Write([]byte("for " + r.URL.String())); err != nil {
			t.Error(err)
		}
	}))
	defer proxy.Close()

	t.Setenv("HTTP_PROXY", proxy.URL)

	const url = "http://192.0.2.1/config"
	if got, err := fetch(t.Context(), Request{URL: url, Proxied: true}); string(got) != "for "+url || err != nil {
		t.Errorf("got %q, %v, want the proxy's answer", got, err)
	}

	if directTransport().Proxy != nil {
		t.Error("requests to a cloud's server use a proxy")
	}
}

// TestTrust checks that a request that permits a proxy trusts the authorities of the machine, which may change, and that others do not.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("machine: {}")) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	bundle := filepath.Join(t.TempDir(), "bundle")
	fetch := over(nil, bundle)

	if _, err := fetch(t.Context(), Request{URL: server.URL, Proxied: true}); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without the authority: got %v, want an unknown authority", err)
	}

	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := fetch(t.Context(), Request{URL: server.URL, Proxied: true}); string(got) != "machine: {}" || err != nil {
		t.Errorf("with the authority: got %q, %v", got, err)
	}

	if _, err := fetch(t.Context(), Request{URL: server.URL}); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a request to a cloud's server: got %v, want an unknown authority", err)
	}
}
