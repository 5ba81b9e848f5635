// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
)

// settle runs planLinks against a kernel until nothing is left to do, and returns what was done.
func settle(t *testing.T, k *netlinktest.Kernel, wanted, leaving []network.LinkSpecSpec) []string {
	t.Helper()

	before := len(k.Calls())

	for range 10 {
		links, err := k.Links()
		if err != nil {
			t.Fatal(err)
		}

		steps := planLinks(wanted, leaving, links)
		if len(steps) == 0 {
			return k.Calls()[before:]
		}

		for _, s := range steps {
			if err := s.do(k); err != nil {
				t.Fatal(err)
			}
		}
	}

	t.Fatalf("the links do not settle:\n%s", strings.Join(k.Calls(), "\n"))

	return nil
}

func TestPlanLinks(t *testing.T) {
	var k netlinktest.Kernel

	k.Plug(ethernet("eth0", 1))
	k.Plug(ethernet("eth1", 2))

	bond := network.LinkSpecSpec{Name: "bond0", Logical: true, Up: true, Kind: network.LinkKindBond, BondMaster: network.BondMasterSpec{Mode: 1, MIIMon: 100}}
	slave := network.LinkSpecSpec{Name: "eth0", Up: true, MTU: 9000, BondSlave: network.BondSlave{MasterName: "bond0"}}
	vlan := network.LinkSpecSpec{Name: "bond0.7", Logical: true, Up: true, Kind: network.LinkKindVLAN, ParentName: "bond0", VLAN: network.VLANSpec{VID: 7, Protocol: 0x8100}}
	bridge := network.LinkSpecSpec{Name: "br0", Logical: true, Up: true, Kind: network.LinkKindBridge}
	port := network.LinkSpecSpec{Name: "eth1", Up: true, BridgeSlave: network.BridgeSlave{MasterName: "br0"}}

	for _, tt := range []struct {
		name            string
		wanted, leaving []network.LinkSpecSpec
		want            []string
	}{
		{
			// The VLAN's parent is made in the same round, so that it follows in the next.
			name: "made", wanted: []network.LinkSpecSpec{vlan, slave, bond, bridge, port},
			want: []string{
				"SetLink 1 mtu=9000", "SetLink 1 up=true", "CreateLink bond bond0", "CreateLink bridge br0", "SetLink 2 up=true",
				"CreateLink vlan bond0.7", "SetLink 1 up=false", "SetLink 1 master=3", "SetLink 1 up=true", "SetLink 3 up=true", "SetLink 4 up=true", "SetLink 2 master=4", "SetLink 5 up=true",
			},
		},
		{name: "nothing to do", wanted: []network.LinkSpecSpec{vlan, slave, bond, bridge, port}, want: nil},
		{
			name:   "changed",
			wanted: []network.LinkSpecSpec{vlan, slave, bond, func() network.LinkSpecSpec { b := bridge; b.BridgeMaster.STP.Enabled = true; return b }(), port},
			want:   []string{"SetLink 4 bridge"},
		},
		{
			name:   "what cannot be changed is made anew",
			wanted: []network.LinkSpecSpec{func() network.LinkSpecSpec { v := vlan; v.VLAN.VID = 8; return v }()},
			want:   []string{"DeleteLink 5", "CreateLink vlan bond0.7", "SetLink 6 up=true"},
		},
		{
			name: "gone", leaving: []network.LinkSpecSpec{vlan, slave, bond, port, bridge},
			want: []string{"DeleteLink 6", "SetLink 1 master=0", "DeleteLink 3", "SetLink 2 master=0", "DeleteLink 4"},
		},
	} {
		var got []string

		if tt.leaving == nil {
			got = settle(t, &k, tt.wanted, nil)
		} else {
			links, _ := k.Links()
			before := len(k.Calls())

			for _, s := range planLinks(nil, tt.leaving, links) {
				if err := s.do(&k); err != nil {
					t.Fatal(err)
				}
			}

			got = k.Calls()[before:]
		}

		if diff := cmp.Diff(tt.want, got); diff != "" && (len(tt.want) > 0 || len(got) > 0) {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestPlanAddresses(t *testing.T) {
	links := []netlink.Link{{Name: "eth0", Index: 2, AltNames: []string{"enp0s3"}}}
	spec := func(link, address string) network.AddressSpecSpec {
		return addressSpec(link, prefix(address), network.LayerConfiguration)
	}
	have := func(address string, flags nethelpers.AddressFlags) netlink.Address {
		return netlink.Address{LinkIndex: 2, Prefix: prefix(address), Flags: uint32(flags)}
	}

	for _, tt := range []struct {
		name            string
		wanted, leaving []network.AddressSpecSpec
		have            []netlink.Address
		remove, add     string
	}{
		{name: "new", wanted: []network.AddressSpecSpec{spec("eth0", "10.0.0.1/24")}, remove: "[]", add: "[10.0.0.1/24]"},
		{name: "by another name", wanted: []network.AddressSpecSpec{spec("enp0s3", "10.0.0.1/24")}, remove: "[]", add: "[10.0.0.1/24]"},
		{name: "there", wanted: []network.AddressSpecSpec{spec("eth0", "10.0.0.1/24")}, have: []netlink.Address{have("10.0.0.1/24", nethelpers.AddressPermanent)}, remove: "[]", add: "[]"},
		{name: "there, with the kernel's own flags", wanted: []network.AddressSpecSpec{spec("eth0", "2001:db8::1/64")}, have: []netlink.Address{have("2001:db8::1/64", nethelpers.AddressPermanent|nethelpers.AddressTentative)}, remove: "[]", add: "[]"},
		{name: "there, but not for good", wanted: []network.AddressSpecSpec{spec("eth0", "10.0.0.1/24")}, have: []netlink.Address{have("10.0.0.1/24", 0)}, remove: "[10.0.0.1/24]", add: "[10.0.0.1/24]"},
		{name: "no link", wanted: []network.AddressSpecSpec{spec("eth9", "10.0.0.1/24")}, remove: "[]", add: "[]"},
		{name: "goes", leaving: []network.AddressSpecSpec{spec("eth0", "10.0.0.1/24"), spec("eth9", "10.0.0.1/24")}, have: []netlink.Address{have("10.0.0.1/24", nethelpers.AddressPermanent), have("10.0.0.2/24", nethelpers.AddressPermanent)}, remove: "[10.0.0.1/24]", add: "[]"},
		{name: "gone already", leaving: []network.AddressSpecSpec{spec("eth0", "10.0.0.1/24")}, remove: "[]", add: "[]"},
	} {
		remove, add := planAddresses(tt.wanted, tt.leaving, links, tt.have)

		text := func(list []netlink.Address) string {
			var p []netip.Prefix
			for _, a := range list {
				p = append(p, a.Prefix)
			}

			return fmt.Sprint(p)
		}
		if text(remove) != tt.remove || text(add) != tt.add {
			t.Errorf("%s: got remove %s, add %s, want %s, %s", tt.name, text(remove), text(add), tt.remove, tt.add)
		}
	}
}

func TestPlanRoutes(t *testing.T) {
	links := []netlink.Link{{Name: "eth0", Index: 2, Flags: unix.IFF_UP}, {Name: "eth1", Index: 3}}
	def := routeSpec("eth0", netip.Prefix{}, addr("10.0.0.1"), 1024, network.LayerOperator)
	onLink := routeSpec("eth0", prefix("10.0.0.1/32"), netip.Addr{}, 1024, network.LayerOperator)
	down := routeSpec("eth1", prefix("10.1.0.0/16"), addr("10.0.0.1"), 1024, network.LayerOperator)

	kernel := func(change func(*netlink.Route)) netlink.Route {
		r := netlink.Route{Family: unix.AF_INET, Gateway: addr("10.0.0.1"), LinkIndex: 2, Table: 254, Priority: 1024, Type: 1, Protocol: 4}
		change(&r)

		return r
	}

	for _, tt := range []struct {
		name            string
		wanted, leaving []network.RouteSpecSpec
		have            []netlink.Route
		remove, set     int
	}{
		{name: "new; over a link that is down it waits", wanted: []network.RouteSpecSpec{def, down, onLink}, set: 2},
		{name: "there", wanted: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(*netlink.Route) {})}},
		{name: "another gateway", wanted: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(r *netlink.Route) { r.Gateway = addr("10.0.0.9") })}, set: 1},
		{name: "another source", wanted: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(r *netlink.Route) { r.Source = addr("10.0.0.9") })}, set: 1},
		{name: "another metric is another route", wanted: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(r *netlink.Route) { r.Priority = 1 })}, set: 1},
		{name: "goes", leaving: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(*netlink.Route) {})}, remove: 1},
		{name: "goes, but somebody else's is there", leaving: []network.RouteSpecSpec{def}, have: []netlink.Route{kernel(func(r *netlink.Route) { r.Gateway = addr("10.0.0.9") })}},
	} {
		remove, set := planRoutes(tt.wanted, tt.leaving, links, tt.have)
		if len(remove) != tt.remove || len(set) != tt.set {
			t.Errorf("%s: got remove %v, set %v, want %d, %d", tt.name, remove, set, tt.remove, tt.set)
		}

		if i := slices.IndexFunc(set, func(r netlink.Route) bool { return r.Gateway.IsValid() }); i >= 0 && slices.ContainsFunc(set[i:], func(r netlink.Route) bool { return !r.Gateway.IsValid() }) {
			t.Errorf("%s: a gateway comes before the way to it: %v", tt.name, set)
		}
	}
}

func TestLeaseRoutes(t *testing.T) {
	op := network.OperatorSpecSpec{LinkName: "eth0", DHCP4: network.DHCP4OperatorSpec{RouteMetric: 100}}

	for _, tt := range []struct {
		name   string
		lease  dhcp4.Lease
		routes []string
	}{
		{"two routers", dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.1")}, {Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.9")}}}, []string{"inet4/10.0.0.1//100", "inet4/10.0.0.9//101"}},
		{"a router elsewhere", dhcp4.Lease{Address: prefix("10.0.0.2/32"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.9.9.1")}}}, []string{"inet4//10.9.9.1/32/100", "inet4/10.9.9.1//100"}},
		{"on the link", dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("169.254.169.254/32")}}}, []string{"inet4//169.254.169.254/32/100"}},
	} {
		var got []string
		for _, r := range fromLease(op, &tt.lease, "").routes {
			got = append(got, r.ID())

			if r.Source != tt.lease.Address.Addr() || r.Protocol != nethelpers.ProtocolDHCP {
				t.Errorf("%s: got %+v", tt.name, r)
			}
		}

		if diff := cmp.Diff(tt.routes, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}

	op.DHCP4.SkipRoutes = true
	if got := fromLease(op, &dhcp4.Lease{Address: prefix("10.0.0.2/24"), Routes: []dhcp4.Route{{Destination: prefix("0.0.0.0/0"), Gateway: addr("10.0.0.1")}}}, "").routes; got != nil {
		t.Errorf("routes are not wanted: got %v", got)
	}
}

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
		},
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
		"current":             "172.20.0.2/24 192.0.2.1/32 2001:db8::2/64 fd00::2/64",
		"routed":              "172.20.0.2/24 2001:db8::2/64 fd00::2/64",
		"accumulative":        "10.0.0.1/8 172.20.0.2/24 192.0.2.1/32 2001:db8::2/64 fd00::2/64",
		"default":             "172.20.0.2/24",
		"current-no-k8s":      "172.20.0.2/24 2001:db8::2/64 fd00::2/64",
		"routed-no-k8s":       "172.20.0.2/24 2001:db8::2/64 fd00::2/64",
		"accumulative-no-k8s": "10.0.0.1/8 172.20.0.2/24 2001:db8::2/64 fd00::2/64",
	}
	if diff := cmp.Diff(want, text(nodeAddresses(f))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The default stays while it is there, though another would come first.
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

func TestRenderResolvConf(t *testing.T) {
	var many network.ResolverStatusSpec

	for i := range 5 {
		many.DNSServers = append(many.DNSServers, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}))
		many.SearchDomains = append(many.SearchDomains, strings.Repeat("a", 60)+".test")
	}

	got := renderResolvConf(many)
	if strings.Count(got, "nameserver") != maxNameServers || len(got) > 400 || !strings.HasSuffix(got, ".test\n") {
		t.Errorf("got %q", got)
	}

	if got := renderResolvConf(network.ResolverStatusSpec{SearchDomains: []string{strings.Repeat("a", 300)}}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
