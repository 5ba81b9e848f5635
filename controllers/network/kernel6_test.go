// SPDX-License-Identifier: Apache-2.0

package network

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// advertisement returns a router advertisement: a prefix for SLAAC, a name server, a search domain, and itself as the default router.
func advertisement(flags byte) []byte {
	p, server := prefix("2001:db8:7::/64").Addr().As16(), addr("2001:db8:7::53").As16()

	m := []byte{134, 0, 0, 0, 64, flags, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0} // for 1800 s
	m = append(m, 3, 4, 64, 0xc0)
	m = binary.BigEndian.AppendUint32(m, 3600)
	m = binary.BigEndian.AppendUint32(m, 1800)
	m = append(append(m, 0, 0, 0, 0), p[:]...)
	m = append(append(m, 25, 3, 0, 0, 0, 0, 0x0e, 0x10), server[:]...)

	return append(append(m, 31, 3, 0, 0, 0, 0, 0x0e, 0x10), "\x02ra\x04test\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

// route6 answers router solicitations on the link, in the caller's network namespace.
func route6(t *testing.T, link string) {
	t.Helper()

	k, err := netlink.Open()
	if err != nil {
		t.Error(err)

		return
	}
	defer k.Close()

	links, err := k.Links()
	if err != nil {
		t.Error(err)
	}

	i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == link })
	up := true

	if err := k.SetLink(links[i].Index, netlink.LinkChange{Up: &up}); err != nil {
		t.Error(err)
	}

	conn, err := net.ListenPacket("ip6:ipv6-icmp", "::")
	if err != nil {
		t.Error(err)

		return
	}

	t.Cleanup(func() { _ = conn.Close() })

	p := ipv6.NewPacketConn(conn)
	if err := p.JoinGroup(&net.Interface{Index: int(links[i].Index), Name: link}, &net.IPAddr{IP: net.IPv6linklocalallrouters}); err != nil {
		t.Error(err)
	}

	go func() {
		buffer := make([]byte, 1500)

		for {
			n, _, _, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}

			if n > 0 && buffer[0] == 133 {
				_, _ = p.WriteTo(advertisement(0x40), &ipv6.ControlMessage{HopLimit: 255, IfIndex: int(links[i].Index)}, &net.IPAddr{IP: net.IPv6linklocalallnodes})
			}
		}
	}()
}

// On the real kernel: a link that was up before the controllers ran gets what its router advertises, because the router is solicited.
func TestRealRouter(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	deps, closeDeps, err := Open(platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeDeps()

	if err := deps.Kernel.CreateLink(netlink.NewLink{Name: "eth0", Kind: "veth", VethPeer: "router"}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	// An early card: it does not forward yet.
	for param, value := range map[string]string{"accept_ra": "2", "forwarding": "1"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/eth0/"+param, []byte(value), 0); err != nil {
			t.Skip(err)
		}
	}

	links, err := deps.Kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	other := nstest.NewNetwork(t)
	other.Take(links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == "router" })].Index)
	other.Do(func() { route6(t, "router") })

	up := true
	if err := deps.Kernel.SetLink(links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == "eth0" })].Index, netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	// The kernel's own solicitation is answered before the controller listens for the options.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		addresses, err := deps.Kernel.Addresses()
		if err != nil {
			t.Fatal(err)
		}

		if slices.ContainsFunc(addresses, func(a netlink.Address) bool { return prefix("2001:db8:7::/64").Contains(a.Prefix.Addr()) }) {
			break
		}

		if time.Now().After(deadline) {
			t.Fatal("the kernel took no address from the router")
		}
	}

	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, dhcp: true}\n")

	await(m, "", network.ResolverID, func(s network.ResolverStatusSpec) bool {
		return slices.Equal(s.DNSServers, []netip.Addr{addr("2001:db8:7::53")}) && slices.Equal(s.SearchDomains, []string{"ra.test"})
	})
	await(m, "", network.StatusID, func(s network.StatusSpec) bool { return s.AddressReady && s.ConnectivityReady && s.HostnameReady })
	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool { return prefix("2001:db8:7::/64").Contains(s.Addresses[0].Addr()) })

	// The router advertises DHCPv6 for other settings, but there is no DHCPv6 server here.
	await(m, "", "operator/dhcp6/eth0", func(s network.SpecConditionSpec) bool {
		return s.State == network.SpecWaiting && s.Cause == "requesting a lease"
	})

	// A default route of ours with the same metric does not conflict with the router's.
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, routes: [{gateway: \"fe80::77\"}]}\n")
	await[network.RouteStatusSpec](m, "", "eth0/inet6/fe80::77//1024", nil)

	// The kernel has one route of a key: the configured one replaced the router's, which is added beside it when the router
	// advertises again. Then both exist, and neither is changed.
	index := await[network.LinkStatusSpec](m, "", "eth0", nil).Index
	if err := deps.SolicitRouters(index); err != nil {
		t.Fatal(err)
	}

	time.Sleep(time.Second)

	routes, err := deps.Kernel.Routes()
	if err != nil {
		t.Fatal(err)
	}

	defaults := slices.DeleteFunc(routes, func(r netlink.Route) bool {
		return r.Destination.IsValid() || r.Type != unix.RTN_UNICAST || r.Table != unix.RT_TABLE_MAIN
	})
	if len(defaults) != 2 {
		t.Errorf("got default routes %v, want the router's and the configured one", defaults)
	}
}
