// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

// authorization is an authorization server without a connection.
type authorization struct {
	device, token string
	status        int // of the answer about the token
	polls         int
}

// RoundTrip implements http.RoundTripper.
func (a *authorization) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}

	status, text := http.StatusOK, a.device

	if r.URL.Path == "/token" {
		a.polls++
		status, text = a.status, a.token
	}

	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

// FuzzLogin gets any answers of an authorization server: the login ends with a token or with an error that can be shown, and until then a
// person has seen where to enter which code.
func FuzzLogin(f *testing.F) {
	const (
		device  = `{"device_code": "d", "user_code": "ABCD", "verification_uri": "https://login.example", "interval": 1, "expires_in": 60}`
		token   = `{"access_token": "t", "token_type": "Bearer", "expires_in": 600}`
		pending = `{"error": "authorization_pending"}`
	)

	for _, seed := range []struct {
		device, token string
		ok            bool
	}{
		{device, token, true},
		{device, pending, false},
		{device, `{"error": "slow_down"}`, false},
		{device, `{"error": "access_denied", "error_description": "no"}`, false},
		{device, `{"access_token": "", "expires_in": "600"}`, true},
		{device, strings.Repeat("x", 5000), false},
		{device, "null", true},
		{"null", token, true},
		{"{}", pending, false},
		{strings.Replace(device, `"interval": 1`, `"interval": -1`, 1), token, true},
		{strings.Replace(device, `"interval": 1`, `"interval": 9223372036854775807`, 1), token, true},
		{strings.Replace(device, `"expires_in": 60`, `"expires_in": 9223372036854775807`, 1), pending, false},
		{strings.Replace(device, `"expires_in": 60`, `"expires_in": 0`, 1), pending, false},
	} {
		f.Add(seed.device, seed.token, seed.ok)
	}

	f.Fuzz(func(t *testing.T, device, token string, ok bool) {
		server := &authorization{device: device, token: token, status: http.StatusOK}
		if !ok {
			server.status = http.StatusBadRequest
		}

		synctest.Test(t, func(t *testing.T) {
			const patience = time.Hour

			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()

			var shown bytes.Buffer

			l := loginOf(cmdline.Parse("talos.config.oauth.client_id=me"))
			l.client.Transport = server

			got, err := l.headers(ctx, "https://config.example/a", valueOf, slog.New(slog.NewTextHandler(&shown, nil)))

			switch {
			case err != nil && (got != nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "goroutine")):
				t.Errorf("got %v with the error %s", got, err)
			case err == nil && (len(got) != 1 || len(got["Authorization"]) <= len("Bearer ")):
				t.Errorf("got %v", got)
			case server.polls > int(patience/time.Second):
				t.Errorf("%d requests for the token", server.polls)
			case server.polls > 0 && (strings.Contains(shown.String(), `address="" `) || !strings.Contains(shown.String(), " code=")):
				t.Errorf("a person sees %s", shown.String())
			}

			time.Sleep(oauthTimeout) // the library does not close the answer about the code
		})
	})
}
