// SPDX-License-Identifier: Apache-2.0

package netgroup_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/seed-59268b81/talos/sys/netgroup"
)

func TestOf(t *testing.T) {
	for in, want := range map[string]string{
		"10.5.0.2":               "10.5.0.2/32",
		"::ffff:10.5.0.2":        "10.5.0.2/32",
		"fd00:1:2:3:4:5:6:7":     "fd00:1:2:3::/64",
		"fd00:1:2:3:ffff::":      "fd00:1:2:3::/64",
		"fe80::1%eth0":           "fe80::/64",
		"2001:db8:0:1::1":        "2001:db8:0:1::/64",
		"::1":                    "::/64",
		"::ffff:255.255.255.255": "255.255.255.255/32",
	} {
		if got := netgroup.Of(netip.MustParseAddr(in)); got.String() != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}

		if got := netgroup.OfPeer(&net.TCPAddr{IP: netip.MustParseAddr(in).WithZone("").AsSlice()}); got.String() != want {
			t.Errorf("connection from %s: got %s, want %s", in, got, want)
		}
	}

	if got := netgroup.OfPeer(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("no address: got %s, want none", got)
	}
}
