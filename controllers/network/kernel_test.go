// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/platform"
)

// dhcpServer is a real DHCP server in a network of its own, on the other end of a veth pair.
type dhcpServer struct {
	t  *testing.T
	mu sync.Mutex
	ip net.IP
}

func (s *dhcpServer) handle(conn net.PacketConn, _ net.Addr, m *dhcpv4.DHCPv4) {
	s.mu.Lock()
	defer s.mu.Unlock()

	kind := dhcpv4.MessageTypeAck

	switch {
	case m.MessageType() == dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case m.RequestedIPAddress() != nil && !m.RequestedIPAddress().Equal(s.ip), !m.ClientIPAddr.IsUnspecified() && !m.ClientIPAddr.Equal(s.ip):
		kind = dhcpv4.MessageTypeNak
	}

	reply, err := dhcpv4.NewReplyFromRequest(m,
		dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(s.ip), dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithLeaseTime(2),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(192, 0, 2, 1))), dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(192, 0, 2, 1))),
		dhcpv4.WithOption(dhcpv4.OptDNS(net.IPv4(192, 0, 2, 1))), dhcpv4.WithOption(dhcpv4.OptHostName("leased")), dhcpv4.WithOption(dhcpv4.OptDomainName("lab.test")),
		dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0x05, 0x78}))
	if err != nil {
		s.t.Error(err)

		return
	}

	if _, err := conn.WriteTo(reply.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: 68}); err != nil {
		s.t.Log(err)
	}
}

func (s *dhcpServer) start(link string) {
	k, err := netlink.Open()
	if err != nil {
		s.t.Error(err)

		return
	}
	defer k.Close()

	links, err := k.Links()
	if err != nil {
		s.t.Error(err)
	}

	for _, l := range links {
		if l.Name != link {
			continue
		}

		up := true
		if err := errors.Join(k.SetLink(l.Index, netlink.LinkChange{Up: &up}), k.AddAddress(netlink.Address{LinkIndex: l.Index, Prefix: prefix("192.0.2.1/24")})); err != nil {
			s.t.Error(err)
		}
	}

	srv, err := server4.NewServer(link, &net.UDPAddr{Port: 67}, s.handle, server4.WithLogger(server4.EmptyLogger{}))
	if err != nil {
		s.t.Error(err)

		return
	}

	s.t.Cleanup(func() { _ = srv.Close() })

	go srv.Serve()
}

// The whole on the real kernel: DHCP from a real server, renewal, another address, a configuration, and back.
func TestRealKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	deps, closeDeps, err := Open(platform.Platform{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeDeps()

	if err := deps.Kernel.CreateLink(netlink.NewLink{Name: "eth0", Kind: "veth", VethPeer: "gw"}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	links, err := deps.Kernel.Links()
	if err != nil {
		t.Fatal(err)
	}

	s := &dhcpServer{t: t, ip: net.IPv4(192, 0, 2, 2)}
	other := nstest.NewNetwork(t)
	other.Take(links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == "gw" })].Index)
	other.Do(func() { s.start("gw") })

	// A veth is not a physical link: the configuration must request DHCP.
	m := &machine{t: t, patience: patience, state: memory.New()}
	run(t, m.state, Controllers(deps))
	m.boot("")
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n      - {interface: eth0, dhcp: true, dhcpOptions: {routeMetric: 512}}\n")

	await(m, "", "eth0/192.0.2.2/24", func(s network.AddressStatusSpec) bool { return s.Broadcast == addr("192.0.2.255") })
	await(m, "", "inet4/192.0.2.1//512", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "eth0" && s.Source == addr("192.0.2.2") })
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.MTU == 1400 && s.Kind == "veth" && s.LinkState })
	await(m, "", "lo/127.0.0.1/8", func(s network.AddressStatusSpec) bool { return s.LinkName == "lo" })
	await(m, "", network.HostnameID, func(s network.HostnameStatusSpec) bool { return s.FQDN() == "leased.lab.test" })
	await(m, "", network.StatusID, func(s network.StatusSpec) bool { return s.AddressReady && s.ConnectivityReady && s.HostnameReady })

	if name, err := os.Hostname(); err != nil || name != "leased" {
		t.Errorf("the kernel's hostname: got %q, %v, want leased", name, err)
	}

	// Nothing is changed needlessly: the versions stay the same while leases of two seconds are renewed.
	before := versions(m)

	time.Sleep(2500 * time.Millisecond)

	if after := versions(m); !slices.Equal(before, after) {
		t.Errorf("after renewals: got versions %v, want %v", after, before)
	}

	// The server gives another address: the renewal is refused, and the machine gets the new one.
	s.mu.Lock()
	s.ip = net.IPv4(192, 0, 2, 3)
	s.mu.Unlock()

	await[network.AddressStatusSpec](m, "", "eth0/192.0.2.3/24", nil)
	awaitGone[network.AddressStatusSpec](m, "", "eth0/192.0.2.2/24")
	await(m, "", "inet4/192.0.2.1//512", func(s network.RouteStatusSpec) bool { return s.Source == addr("192.0.2.3") })

	m.configure(`
version: v1alpha1
machine:
  type: worker
  network:
    hostname: fixed
    interfaces:
      - interface: eth0
        mtu: 1300
        addresses: [198.51.100.7/24, "2001:db8::7/64"]
        routes:
          - {gateway: 198.51.100.1}
          - {network: "2001:db8:f::/48", gateway: "2001:db8::1", metric: 77, mtu: 1280}
          - {network: 203.0.113.0/24}
`)

	awaitGone[network.AddressStatusSpec](m, "", "eth0/192.0.2.3/24")
	await(m, "", "eth0/198.51.100.7/24", func(s network.AddressStatusSpec) bool { return s.LinkName == "eth0" })
	await(m, "", "eth0/2001:db8::7/64", func(s network.AddressStatusSpec) bool { return s.Flags.String() == "permanent" })
	await(m, "", "inet4/198.51.100.1//1024", func(s network.RouteStatusSpec) bool { return s.Protocol.String() == "static" })
	await(m, "", "eth0/inet6/2001:db8::1/2001:db8:f::/48/77", func(s network.RouteStatusSpec) bool { return s.MTU == 1280 })
	await(m, "", "inet4//203.0.113.0/24/1024", func(s network.RouteStatusSpec) bool { return s.Scope.String() == "link" })
	awaitGone[network.RouteStatusSpec](m, "", "inet4/192.0.2.1//512")
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool { return s.MTU == 1300 })
	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool {
		return slices.Equal(s.Addresses, []netip.Prefix{prefix("198.51.100.7/24")})
	})

	// The link goes down and up again, which makes the kernel drop routes and IPv6 addresses.
	index := await[network.LinkStatusSpec](m, "", "eth0", nil).Index
	down := false

	if err := deps.Kernel.SetLink(index, netlink.LinkChange{Up: &down}); err != nil {
		t.Fatal(err)
	}

	await(m, "", "eth0/2001:db8::7/64", func(s network.AddressStatusSpec) bool { return s.Flags.String() == "permanent" })
	await[network.RouteStatusSpec](m, "", "inet4/198.51.100.1//1024", nil)
	await[network.RouteStatusSpec](m, "", "eth0/inet6/2001:db8::1/2001:db8:f::/48/77", nil)

	// What is not wanted any more is removed from the kernel.
	m.configure("version: v1alpha1\nmachine:\n  type: worker\n  network:\n    hostname: fixed\n    interfaces:\n      - {interface: eth0}\n")
	awaitGone[network.RouteStatusSpec](m, "", "inet4/198.51.100.1//1024")
	awaitGone[network.AddressStatusSpec](m, "", "eth0/198.51.100.7/24")
	awaitGone[network.RouteSpecSpec](m, "", "inet4//203.0.113.0/24/1024")
}

// versions are those of the resources that a renewal could touch.
func versions(m *machine) []string {
	var out []string

	addresses, err := typed.List[network.AddressStatusSpec](m.t.Context(), m.state, "")
	if err != nil {
		m.t.Error(err)
	}

	for _, a := range addresses {
		if !a.TypedSpec().Address.Addr().IsLinkLocalUnicast() { // the kernel adds those, and checks them for a while
			out = append(out, a.Metadata().String())
		}
	}

	specs, err := typed.List[network.AddressSpecSpec](m.t.Context(), m.state, "")
	if err != nil {
		m.t.Error(err)
	}

	for _, a := range specs {
		out = append(out, a.Metadata().String())
	}

	return out
}
