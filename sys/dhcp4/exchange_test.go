// SPDX-License-Identifier: Apache-2.0

package dhcp4

import (
	"bytes"
	"errors"

	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// server is a real DHCP server on one end of a veth pair.
type server struct {
	t *testing.T

	mu     sync.Mutex
	seen   []string // message types, with their senders
	refuse bool
	silent bool
	// rogue is a second server, which refuses everything, and answers sooner.
	rogue bool
}

func (s *server) handle(conn net.PacketConn, peer net.Addr, m *dhcpv4.DHCPv4) {
	s.mu.Lock()
	defer s.mu.Unlock()

	from := peer.(*net.UDPAddr).IP.String() // a UDP server
	s.seen = append(s.seen, m.MessageType().String()+" from "+from+" called "+m.HostName()+" wants "+m.RequestedIPAddress().String())

	if s.rogue {
		s.reply(conn, peer, m, dhcpv4.MessageTypeNak, net.IPv4(192, 0, 2, 66))
	}

	if s.silent {
		return
	}

	kind := dhcpv4.MessageTypeAck

	switch {
	case m.MessageType() == dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case s.refuse:
		kind = dhcpv4.MessageTypeNak
	}

	s.reply(conn, peer, m, kind, net.IPv4(192, 0, 2, 1))
}

func (s *server) reply(conn net.PacketConn, peer net.Addr, m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, id net.IP) {
	reply, err := dhcpv4.NewReplyFromRequest(m,
		dhcpv4.WithMessageType(kind), dhcpv4.WithYourIP(net.IPv4(192, 0, 2, 2)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithLeaseTime(60), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(id)),
		dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(192, 0, 2, 1))), dhcpv4.WithOption(dhcpv4.OptDNS(net.IPv4(192, 0, 2, 1))))
	if err != nil {
		s.t.Error(err)

		return
	}

	to := &net.UDPAddr{IP: net.IPv4bcast, Port: 68}
	if from := peer.(*net.UDPAddr).IP.String(); !m.ClientIPAddr.IsUnspecified() && from == m.ClientIPAddr.String() {
		to.IP = m.ClientIPAddr
	}

	if _, err := conn.WriteTo(reply.ToBytes(), to); err != nil {
		s.t.Log(err)
	}
}

// start runs the server in the caller's network namespace.
func (s *server) start() {
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
		up := true
		if err := k.SetLink(l.Index, netlink.LinkChange{Up: &up}); err != nil {
			s.t.Error(err)
		}

		if l.Name == "server" {
			if err := k.AddAddress(netlink.Address{LinkIndex: l.Index, Prefix: netip.MustParsePrefix("192.0.2.1/24")}); err != nil {
				s.t.Error(err)
			}
		}
	}

	srv, err := server4.NewServer("server", &net.UDPAddr{Port: 67}, s.handle, server4.WithLogger(server4.EmptyLogger{}))
	if err != nil {
		s.t.Error(err)

		return
	}

	s.t.Cleanup(func() { _ = srv.Close() })

	go srv.Serve()
}

// vethPair creates the links client and server, both down.
func vethPair(t *testing.T) (netlink.Kernel, map[string]netlink.Link) {
	t.Helper()

	k, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = k.Close() })

	if err := k.CreateLink(netlink.NewLink{Name: "client", Kind: "veth", VethPeer: "server"}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	named := map[string]netlink.Link{}
	for _, l := range links {
		named[l.Name] = l
	}

	return k, named
}

// waitForCarrier waits until the kernel passes packets, which is some time after both ends are up.
func waitForCarrier(t *testing.T, k netlink.Kernel, index uint32) {
	t.Helper()

	const operUp = 6

	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		links, err := k.Links()
		if err != nil {
			t.Fatal(err)
		}

		for _, l := range links {
			if l.Index == index && l.OperState == operUp {
				return
			}
		}
	}

	t.Fatal("the link has no carrier")
}

func (s *server) set(refuse, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.refuse, s.silent = refuse, silent
}

func TestRealServer(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k, links := vethPair(t)

	s := &server{t: t}
	other := nstest.NewNetwork(t)
	other.Take(links["server"].Index)
	other.Do(func() { s.start() })

	up := true
	if err := k.SetLink(links["client"].Index, netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	waitForCarrier(t, k, links["client"].Index)

	link := &Link{Name: "client", HardwareAddr: links["client"].Address, Hostname: func() string { return "node-1" }}
	timeout := 5 * time.Second
	ctx := t.Context()

	lease, err := link.Ask(ctx, dhcp.Acquire, nil, timeout)
	if err != nil {
		t.Fatal(err)
	}

	gw := netip.MustParseAddr("192.0.2.1")
	want := &Lease{
		Address: netip.MustParsePrefix("192.0.2.2/24"), Server: gw, DNS: []netip.Addr{gw},
		Routes: []Route{{netip.MustParsePrefix("0.0.0.0/0"), gw}}, Renew: 30 * time.Second, Rebind: 52500 * time.Millisecond, Expire: time.Minute,
	}

	if diff := cmp.Diff(want, lease, compareAddrs); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}

	// Without the address on the link the renewal is a broadcast; with it, sent to the server.
	if _, err := link.Ask(ctx, dhcp.Renew, lease, timeout); err != nil {
		t.Error(err)
	}

	if err := k.AddAddress(netlink.Address{LinkIndex: links["client"].Index, Prefix: netip.MustParsePrefix("192.0.2.2/24")}); err != nil {
		t.Fatal(err)
	}

	if _, err := link.Ask(ctx, dhcp.Renew, lease, timeout); err != nil {
		t.Error(err)
	}

	for _, ask := range []func() (*Lease, error){
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Rebind, lease, timeout) },
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Verify, lease, timeout) },
	} {
		if got, err := ask(); err != nil || got.Address != lease.Address {
			t.Errorf("got %v, %v, want the same address", got, err)
		}
	}

	s.set(true, false)

	if _, err := link.Ask(ctx, dhcp.Verify, lease, timeout); !errors.Is(err, ErrRefused) {
		t.Errorf("refused: got %v, want ErrRefused", err)
	}

	// A second server that does not know the lease refuses it: that counts only if its own server is silent.
	s.mu.Lock()
	s.refuse, s.rogue = false, true
	s.mu.Unlock()

	for _, ask := range []func() (*Lease, error){
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Verify, lease, timeout) },
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Rebind, lease, timeout) },
	} {
		if got, err := ask(); err != nil || got.Address != lease.Address || got.Server != lease.Server {
			t.Errorf("beside a second server: got %v, %v, want the same lease", got, err)
		}
	}

	s.set(false, true)

	if _, err := link.Ask(ctx, dhcp.Verify, lease, 200*time.Millisecond); !errors.Is(err, ErrRefused) {
		t.Errorf("only the second server answers: got %v, want ErrRefused", err)
	}

	s.mu.Lock()
	s.rogue = false
	s.seen = s.seen[:7]
	s.mu.Unlock()

	if _, err := link.Ask(ctx, dhcp.Acquire, nil, 200*time.Millisecond); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("silence: got %v, want an error of time", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	// The server reports packets without a source address as broadcast.
	wantSeen := []string{
		"DISCOVER from 255.255.255.255 called node-1 wants <nil>", "REQUEST from 255.255.255.255 called node-1 wants 192.0.2.2",
		"REQUEST from 255.255.255.255 called node-1 wants <nil>",
		"REQUEST from 192.0.2.2 called node-1 wants <nil>",
		"REQUEST from 255.255.255.255 called node-1 wants <nil>", "REQUEST from 255.255.255.255 called node-1 wants 192.0.2.2",
		"REQUEST from 255.255.255.255 called node-1 wants 192.0.2.2", "DISCOVER from 255.255.255.255 called node-1 wants <nil>",
	}
	if diff := cmp.Diff(wantSeen, s.seen); diff != "" {
		t.Errorf("the server saw (-want +got):\n%s", diff)
	}
}

// A link that is down or was removed is an error and not a panic.
func TestNoLink(t *testing.T) {
	link := &Link{Name: "absent", HardwareAddr: bytes.Repeat([]byte{2}, 6)}

	if _, err := link.Ask(t.Context(), dhcp.Acquire, nil, time.Second); err == nil {
		t.Error("got no error")
	}

}
