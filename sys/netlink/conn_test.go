// SPDX-License-Identifier: Apache-2.0

package netlink_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/netlink/netlinktest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

var compareAddrs = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func ptr[T any](v T) *T { return &v }

func open(t *testing.T) *netlink.Conn {
	t.Helper()

	c, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = c.Close() })

	return c
}

func linkNamed(t *testing.T, k netlink.Kernel, name string) netlink.Link {
	t.Helper()

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("no link %s among %v", name, links)
	}

	return links[i]
}

// veth creates a pair in the test's namespace, both ends up.
func veth(t *testing.T, k netlink.Kernel) (a, b netlink.Link) {
	t.Helper()

	err := k.CreateLink(netlink.NewLink{Name: "va", Kind: "veth", VethPeer: "vb"})
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no veth")
	}

	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"va", "vb", "lo"} {
		if err := k.SetLink(linkNamed(t, k, name).Index, netlink.LinkChange{Up: ptr(true)}); err != nil {
			t.Fatal(err)
		}
	}

	return linkNamed(t, k, "va"), linkNamed(t, k, "vb")
}

func TestLinks(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, b := veth(t, k)

	if !a.Up() || !a.Carrier() || a.Kind != "veth" || a.Parent != b.Index || a.Type != unix.ARPHRD_ETHER || len(a.Address) != 6 || a.MTU != 1500 {
		t.Errorf("got %+v, want an Ethernet veth, up", a)
	}

	mac := []byte{2, 1, 2, 3, 4, 5}
	if err := k.SetLink(a.Index, netlink.LinkChange{MTU: ptr(uint32(1400)), Address: mac}); err != nil {
		t.Fatal(err)
	}

	if a = linkNamed(t, k, "va"); a.MTU != 1400 || !slices.Equal(a.Address, mac) || !a.Up() {
		t.Errorf("got %+v, want mtu 1400 and address %x, still up", a, mac)
	}

	if err := k.SetLink(b.Index, netlink.LinkChange{Up: ptr(false)}); err != nil {
		t.Fatal(err)
	}

	if a = linkNamed(t, k, "va"); !a.Up() || a.Carrier() {
		t.Errorf("the other end is down: got flags %x", a.Flags)
	}

	for range 2 { // the second time it is already removed
		if err := k.DeleteLink(a.Index); err != nil {
			t.Fatal(err)
		}
	}

	if err := k.SetLink(a.Index, netlink.LinkChange{Up: ptr(true)}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("set a link that was removed: got %v, want ENODEV", err)
	}
}

func TestLogicalLinks(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)

	for _, n := range []netlink.NewLink{
		{Name: "va.7", Kind: "vlan", Parent: a.Index, VLAN: &netlink.VLAN{ID: 7, Protocol: 0x8100}},
		{Name: "br0", Kind: "bridge", Bridge: &netlink.Bridge{STP: true}},
		{Name: "bond0", Kind: "bond", Bond: &netlink.Bond{Mode: 1, MIIMon: 100, UpDelay: 200, FailOverMAC: 1, PrimaryReselect: 1, ResendIGMP: 1, LPInterval: 1, NumPeerNotif: 1, UseCarrier: true, MissedMax: 2}},
		{Name: "dummy7", Kind: "dummy"},
		{Name: "blue", Kind: "vrf", VRF: &netlink.VRF{Table: 123}},
	} {
		t.Run(n.Kind, func(t *testing.T) {
			err := k.CreateLink(n)
			if errors.Is(err, unix.EOPNOTSUPP) {
				t.Skipf("this kernel has no %s links", n.Kind)
			}

			if err != nil {
				t.Fatal(err)
			}

			l := linkNamed(t, k, n.Name)
			if l.Kind != n.Kind || l.Parent != n.Parent {
				t.Errorf("got %+v, want %+v", l, n)
			}

			if diff := cmp.Diff([]any{n.VLAN, n.Bridge, n.Bond, n.VRF}, []any{l.VLAN, l.Bridge, l.Bond, l.VRF}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddressesAndRoutes(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)

	v4 := netlink.Address{LinkIndex: a.Index, Prefix: netip.MustParsePrefix("192.0.2.2/24"), Flags: unix.IFA_F_PERMANENT}
	v6 := netlink.Address{LinkIndex: a.Index, Prefix: netip.MustParsePrefix("2001:db8::2/64"), Flags: unix.IFA_F_PERMANENT | unix.IFA_F_NODAD}

	for _, address := range []netlink.Address{v4, v6} {
		if err := k.AddAddress(address); err != nil {
			t.Fatal(err)
		}

		if err := k.AddAddress(address); !errors.Is(err, unix.EEXIST) {
			t.Errorf("add %s again: got %v, want EEXIST", address.Prefix, err)
		}
	}

	got, err := k.Addresses()
	if err != nil {
		t.Fatal(err)
	}

	got = slices.DeleteFunc(got, func(x netlink.Address) bool { return x.LinkIndex != a.Index || x.Prefix.Addr().IsLinkLocalUnicast() })
	want := []netlink.Address{v4, v6}
	want[0].Broadcast = netip.MustParseAddr("192.0.2.255")

	if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}

	route := netlink.Route{
		Family: unix.AF_INET, Gateway: netip.MustParseAddr("192.0.2.1"), LinkIndex: a.Index, Table: unix.RT_TABLE_MAIN,
		Priority: 1024, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_STATIC, Source: v4.Prefix.Addr(),
	}
	route6 := netlink.Route{
		Family: unix.AF_INET6, Destination: netip.MustParsePrefix("2001:db8:1::/48"), Gateway: netip.MustParseAddr("2001:db8::1"), LinkIndex: a.Index,
		Table: 1000, Priority: 7, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_STATIC, MTU: 1400,
	}

	for _, r := range []netlink.Route{route, route6} {
		if err := k.ReplaceRoute(r); err != nil {
			t.Fatal(err)
		}
	}

	route.Gateway = netip.MustParseAddr("192.0.2.3")
	if err := k.ReplaceRoute(route); err != nil {
		t.Fatal(err)
	}

	routes, err := k.Routes()
	if err != nil {
		t.Fatal(err)
	}

	routes = slices.DeleteFunc(routes, func(r netlink.Route) bool { return r.Protocol != unix.RTPROT_STATIC })
	if diff := cmp.Diff([]netlink.Route{route, route6}, routes, compareAddrs); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}

	for range 2 { // the second time they are already removed
		for _, r := range []netlink.Route{route, route6} {
			if err := k.DeleteRoute(r); err != nil {
				t.Error(err)
			}
		}

		for _, address := range []netlink.Address{v4, v6} {
			if err := k.DeleteAddress(address); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWatch(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := open(t)
	a, _ := veth(t, k)
	testWatch(t, k, a.Index)
}

func TestFakeWatch(t *testing.T) {
	var k netlinktest.Kernel

	testWatch(t, &k, k.Plug(netlink.Link{Name: "eth0"}).Index)
}

// testWatch holds for every Kernel: the first call when subscribed, one more after a change, silence after the end.
func testWatch(t *testing.T, k netlink.Kernel, index uint32) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	changed, done := make(chan struct{}, 100), make(chan error)

	go func() {
		done <- k.Watch(ctx, netlink.WatchAddresses, func(netlink.Groups) { changed <- struct{}{} })
	}()

	wait := func(what string) {
		t.Helper()

		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Fatalf("no call after %s", what)
		}
	}

	wait("the start")

	if err := k.AddAddress(netlink.Address{LinkIndex: index, Prefix: netip.MustParsePrefix("198.51.100.1/32")}); err != nil {
		t.Fatal(err)
	}

	wait("a change")
	cancel()

	if err := <-done; err != nil {
		t.Errorf("Watch after its end: got %v, want nil", err)
	}
}
