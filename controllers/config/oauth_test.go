// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// TestLogin downloads a configuration from a server that wants a token, which an authorization server issues once a person has entered the
// code. A token that is refused is replaced.
func TestLogin(t *testing.T) {
	var (
		polls, logins atomic.Int32
		first         = map[string]string{}
		mux           = http.NewServeMux()
	)

	mux.HandleFunc("POST /device/code", func(w http.ResponseWriter, r *http.Request) {
		if logins.Add(1) == 1 {
			for _, name := range []string{"client_id", "scope", "audience", "uuid"} {
				first[name] = r.FormValue(name)
			}
		}

		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": "https://login.example/device", "interval": 1, "expires_in": 60}`))
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")

		if r.FormValue("device_code") != "d" || polls.Add(1) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error": "authorization_pending"}`))

			return
		}

		_, _ = w.Write([]byte(`{"access_token": "t", "token_type": "Bearer", "expires_in": 600}`))
	})
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" || logins.Load() < 2 {
			w.WriteHeader(http.StatusUnauthorized)

			return
		}

		_, _ = w.Write([]byte("machine: {}"))
	})

	server := httptest.NewServer(mux)
	defer server.Close()

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()

	args := cmdline.Parse("talos.config=" + server.URL + "/config talos.config.oauth.client_id=me talos.config.oauth.scope=a talos.config.oauth.scope=b " +
		"talos.config.oauth.audience=lab talos.config.oauth.extra_variable=uuid")
	r := remoteOf(args, platform.Platform{}, cloud.HTTP(transport), valueOf)
	r.login.client.Transport = transport

	var out bytes.Buffer

	log := slog.New(slog.NewTextHandler(&out, nil))

	if _, err := r.ask(t.Context(), log); err == nil || !strings.Contains(err.Error(), "status 401") {
		t.Errorf("a token that is refused: got error %v", err)
	}

	if got, err := r.ask(t.Context(), log); string(got) != "machine: {}" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}

	want := map[string]string{"client_id": "me", "scope": "a b", "audience": "lab", "uuid": "4c4c4544-0042"}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the request for a code (-want +got):\n%s", diff)
	}

	if !strings.Contains(out.String(), "address=https://login.example/device code=ABCD-EFGH") {
		t.Errorf("the log is %s", out.String())
	}
}
