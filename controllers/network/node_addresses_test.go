// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

func TestNodeAddresses(t *testing.T) {
	status := func(link, address string, change func(*network.AddressStatusSpec)) network.AddressStatusSpec {
		s := network.AddressStatusSpec{Address: prefix(address), LinkName: link, Scope: scopeOf(prefix(address).Addr()), Flags: nethelpers.AddressPermanent}
		if change != nil {
			change(&s)
		}

		return s
	}

	f := addressFacts{
		up: map[string]bool{"lo": true, "eth0": true, "eth1": false},
		addresses: []network.AddressStatusSpec{
			status("lo", "127.0.0.1/8", nil), status("lo", "::1/128", nil), status("lo", "192.0.2.1/32", nil),
			status("eth0", "172.20.0.2/24", nil), status("eth0", "fe80::1/64", nil), status("eth0", "2001:db8::2/64", nil),
			status("eth0", "fd00::2/64", nil),
			status("eth0", "2001:db8::3/64", func(s *network.AddressStatusSpec) { s.Flags = nethelpers.AddressTentative }),
			status("eth1", "198.51.100.1/24", nil),
			status("lo", network.HostDNSAddress4.String()+"/32", nil), status("lo", network.HostDNSAddress6.String()+"/128", nil),
			status("eth0", "172.20.0.50/32", nil),
		},
		shared:  []netip.Addr{addr("172.20.0.50")},
		filters: map[string]network.NodeAddressFilterSpec{"no-k8s": {ExcludeSubnets: []netip.Prefix{prefix("192.0.2.0/24")}}},
		before:  map[string][]netip.Prefix{network.NodeAddressAccumulativeID: {prefix("10.0.0.1/8")}},
	}

	text := func(sets map[string][]netip.Prefix) map[string]string {
		out := map[string]string{}
		for id, set := range sets {
			out[id] = strings.Trim(fmt.Sprint(set), "[]")
		}

		return out
	}

	want := map[string]string{
		"current":             "172.20.0.2/24 172.20.0.50/32 192.0.2.1/32 2001:db8::2/64 fd00::2/64",
		"routed":              "172.20.0.2/24 2001:db8::2/64 fd00::2/64",
		"accumulative":        "10.0.0.1/8 172.20.0.2/24 172.20.0.50/32 192.0.2.1/32 2001:db8::2/64 fd00::2/64",
		"default":             "172.20.0.2/24",
		"current-no-k8s":      "172.20.0.2/24 172.20.0.50/32 2001:db8::2/64 fd00::2/64",
		"routed-no-k8s":       "172.20.0.2/24 2001:db8::2/64 fd00::2/64",
		"accumulative-no-k8s": "10.0.0.1/8 172.20.0.2/24 172.20.0.50/32 2001:db8::2/64 fd00::2/64",
	}
	if diff := cmp.Diff(want, text(nodeAddresses(f))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The default stays while the machine has it, though another would come first.
	f.before[network.NodeAddressDefaultID] = []netip.Prefix{prefix("fd00::2/64")}
	if got := text(nodeAddresses(f))["default"]; got != "fd00::2/64" {
		t.Errorf("default: got %s, want it kept", got)
	}

	f.algorithm = nethelpers.AddressSortV2
	addresses := []netip.Prefix{prefix("fd00::2/64"), prefix("10.0.0.9/32"), prefix("2001:db8::2/64"), prefix("10.1.0.1/24"), prefix("2001:db8::1/128")}

	sortAddresses(addresses, f.algorithm)

	if got := fmt.Sprint(addresses); got != "[10.1.0.1/24 10.0.0.9/32 2001:db8::2/64 fd00::2/64 2001:db8::1/128]" {
		t.Errorf("v2: got %s", got)
	}
}
