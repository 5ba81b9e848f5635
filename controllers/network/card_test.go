// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestGivenCards(t *testing.T) {
	for _, tt := range []struct {
		name, kind       string
		metal, container bool
	}{
		{"eth0", "", true, true},
		{"eth0", "tun", false, true},
		{"eth12", "veth", false, true},
		{"eth0", "bridge", false, false},
		{"eth0.5", "vlan", false, false},
		{"veth2ceeade4", "veth", false, false},
		{"tap0", "tun", false, false},
	} {
		for mode, want := range map[platform.Mode]bool{platform.Metal: tt.metal, platform.Container: tt.container} {
			l := netlink.Link{Name: tt.name, Kind: tt.kind, Type: uint16(nethelpers.LinkTypeEther)}

			s := linkStatus(asCard(l, platform.Platform{Mode: mode}), nil)
			if s.Physical() != want {
				t.Errorf("%s of kind %q, %s: got a card: %t, want %t", tt.name, tt.kind, mode, s.Physical(), want)
			}
		}
	}
}
