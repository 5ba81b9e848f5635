// SPDX-License-Identifier: Apache-2.0

//go:build linux

package capability

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	const (
		all        = "Name:\tinit\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n"
		noResource = "CapEff:\t000001fffeffffff\n"
		whole      = "         0          0 4294967295\n"
		mapped     = "         0       1000          1\n         1     100000      65535\n"
	)

	for _, tt := range []struct {
		name, status, uidMap string
		user, may, fails     bool
	}{
		{"root of the computer", all, whole, false, true, false},
		{"without the capability", noResource, whole, false, false, false},
		{"root of a user namespace", all, mapped, true, false, false},
		{"of a namespace that begins as the computer's", all, "0 0 65536", true, false, false},
		{"no capabilities", "Name:\tinit\n", whole, false, false, true},
		{"no number", "CapEff:\tx\n", whole, false, false, true},
	} {
		r, err := Parse(tt.status, tt.uidMap)
		if r.UserNamespace != tt.user || r.Computer(unix.CAP_SYS_RESOURCE) != tt.may || (err != nil) != tt.fails {
			t.Errorf("%s: got %+v, %v", tt.name, r, err)
		}
	}

	if _, err := Own(); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("CapEff:\t000001ffffffffff\n", "0 0 4294967295")
	f.Fuzz(func(t *testing.T, status, uidMap string) {
		if r, err := Parse(status, uidMap); err != nil && r != (Rights{}) {
			t.Errorf("got %+v with %v", r, err)
		}
	})
}
