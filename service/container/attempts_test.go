// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestAttempts checks that the last failure of each host is reported, in the order in which they were tried. The test of pulls in controllers/cri
// has real failures.
func TestAttempts(t *testing.T) {
	a := &Attempts{credentials: Credentials{"r.example": {Username: "a"}}}
	request := func(host string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, "http://"+host+"/v2/", nil)
		if err != nil {
			t.Fatal(err)
		}

		return r
	}

	cause := errors.New("cause")
	if got := a.Explain(cause); got.Error() != "cause" {
		t.Errorf("no attempt: got %v", got)
	}

	for _, try := range []struct {
		host   string
		status int
	}{{"cache", 404}, {"r.example", 401}, {"m.example", 500}, {"r.example", 403}, {"s.example", 401}, {"m.example", 200}} {
		a.note(request(try.host), &http.Response{StatusCode: try.status}, nil)
	}

	// A server of tokens is sent the credentials of the registry.
	tokens := request("auth.example")
	tokens.SetBasicAuth("a", "b")
	a.note(tokens, &http.Response{StatusCode: http.StatusUnauthorized}, nil)

	const want = "cache: does not have the image (404 Not Found); " +
		"r.example: authentication failed: it refuses the credentials of RegistryAuthConfig (403 Forbidden); " +
		"s.example: authentication failed: it has no credentials in RegistryAuthConfig (401 Unauthorized); " +
		"auth.example: authentication failed: it refuses the credentials of RegistryAuthConfig (401 Unauthorized): cause"

	if got := a.Explain(cause); got.Error() != want || !errors.Is(got, cause) {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestCredentials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.json")

	if c, err := readCredentials(path); c != nil || err != nil {
		t.Errorf("without a file: got %v, %v", c, err)
	}

	if err := os.WriteFile(path, []byte(`{
		"user": {"username": "a", "password": "b", "auth": "eDp5"}, "token": {"identityToken": "t"},
		"encoded": {"auth": "eDp5"}, "bad": {"auth": "eA=="}
	}`), 0o600); err != nil {
		t.Fatal(err)
	}

	c, err := readCredentials(path)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		host, user, secret string
		fails              bool
	}{
		{host: "user", user: "a", secret: "b"},
		{host: "token", secret: "t"},
		{host: "encoded", user: "x", secret: "y"},
		{host: "other"},
		{host: "bad", fails: true},
	} {
		user, secret, err := c.of(tt.host)
		if user != tt.user || secret != tt.secret || (err != nil) != tt.fails {
			t.Errorf("%s: got %q, %q, %v", tt.host, user, secret, err)
		}
	}

	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}

	if _, err := readCredentials(path); err == nil {
		t.Error("a bad file: got no error")
	}
}
