// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"net/http"
	"net/http/httptest"
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

	if direct, _ := transports(); direct.Proxy != nil {
		t.Error("requests to a cloud's server use a proxy")
	}
}
