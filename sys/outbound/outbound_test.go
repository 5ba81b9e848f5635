// SPDX-License-Identifier: Apache-2.0

package outbound_test

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

	"github.com/seed-59268b81/talos/sys/outbound"
)

// TestProxy checks that a change of the environment is seen by the next request.
func TestProxy(t *testing.T) {
	request, err := http.NewRequest(http.MethodGet, "https://registry.example/v2/", nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ proxy, except, want string }{
		{"", "", ""},
		{"http://proxy.example:3128", "", "http://proxy.example:3128"},
		{"http://other.example:3128", "", "http://other.example:3128"},
		{"http://other.example:3128", ".example", ""},
	} {
		t.Setenv("HTTPS_PROXY", tt.proxy)
		t.Setenv("https_proxy", "")
		t.Setenv("NO_PROXY", tt.except)
		t.Setenv("no_proxy", "")

		got, err := outbound.Proxy(request)
		if err != nil {
			t.Fatal(err)
		}

		text := ""
		if got != nil {
			text = got.String()
		}

		if text != tt.want {
			t.Errorf("%q except %q: got %q, want %q", tt.proxy, tt.except, text, tt.want)
		}
	}
}

// TestBundle checks that a change of the bundle is seen by the next client, and by the next request of a Transport.
func TestBundle(t *testing.T) {
	for name, client := range map[string]func(bundle string) (*http.Client, error){
		"client": outbound.Client,
		"transport": func(bundle string) (*http.Client, error) {
			return &http.Client{Transport: outbound.Transport{Bundle: bundle}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) { testBundle(t, client) })
	}
}

func testBundle(t *testing.T, clientOf func(bundle string) (*http.Client, error)) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	bundle := filepath.Join(t.TempDir(), "bundle")
	get := func() error {
		client, err := clientOf(bundle)
		if err != nil {
			return err
		}
		defer client.CloseIdleConnections()

		response, err := client.Get(server.URL)
		if err != nil {
			return err
		}

		return response.Body.Close()
	}

	if err := get(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without a bundle: got %v, want an unknown authority", err)
	}

	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := get(); err != nil {
		t.Errorf("with the authority: got %v", err)
	}

	if err := os.WriteFile(bundle, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := get(); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("an empty bundle: got %v, want an error", err)
	}
}
