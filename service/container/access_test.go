// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import "testing"

// TestLogin: a caller's login is for its registry only, by the name that users know.
func TestLogin(t *testing.T) {
	for _, tt := range []struct {
		registry, host string
		want           bool
	}{
		{"registry.test", "registry.test", true},
		{"registry.test", "other.test", false},
		{"", "other.test", true},
		{"docker.io", "registry-1.docker.io", true},
		{"docker.io", "registry.test", false},
	} {
		l := &Login{Host: tt.registry, Credential: Credential{Username: "u", Password: "p"}}

		user, password, err := l.of(tt.host)
		if got := user == "u" && password == "p"; err != nil || got != tt.want {
			t.Errorf("the login for %q at %q: got %q, %q, %v, want it: %t", tt.registry, tt.host, user, password, err, tt.want)
		}
	}
}
