// SPDX-License-Identifier: Apache-2.0

package dhcp6

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/dhcpv6/server6"
	"github.com/insomniacslk/dhcp/iana"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// server is a real DHCPv6 server on one end of a veth pair.
type server struct {
	t *testing.T

	mu      sync.Mutex
	seen    []string
	clients []string // their identifiers
	unknown bool     // of our leases
	silent  bool
}

func (s *server) handle(conn net.PacketConn, peer net.Addr, d dhcpv6.DHCPv6) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := d.GetInnerMessage()
	if err != nil {
		s.t.Error(err)

		return
	}

	name := ""
	if fqdn := m.Options.FQDN(); fqdn != nil {
		name = " called " + fqdn.DomainName.Labels[0]
	}

	s.seen = append(s.seen, m.MessageType.String()+name)
	s.clients = append(s.clients, string(m.Options.ClientID().ToBytes()))

	if s.silent {
		return
	}

	duid := &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}
	mods := []dhcpv6.Modifier{dhcpv6.WithServerID(duid), dhcpv6.WithDNS(net.ParseIP("2001:db8::53"))}

	if ia := m.Options.OneIANA(); ia != nil {
		answer := &dhcpv6.OptIANA{IaId: ia.IaId, T1: 10 * time.Second, T2: 20 * time.Second}
		if s.unknown {
			answer.Options.Add(&dhcpv6.OptStatusCode{StatusCode: iana.StatusNoBinding})
		} else {
			answer.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP("2001:db8::2"), PreferredLifetime: 30 * time.Second, ValidLifetime: time.Minute})
		}

		mods = append(mods, dhcpv6.WithOption(answer))
	}

	var reply *dhcpv6.Message

	if m.MessageType == dhcpv6.MessageTypeSolicit {
		reply, err = dhcpv6.NewAdvertiseFromSolicit(m, mods...)
	} else {
		reply, err = dhcpv6.NewReplyFromMessage(m, mods...)
	}

	if err != nil {
		s.t.Error(err)

		return
	}

	if _, err := conn.WriteTo(reply.ToBytes(), peer); err != nil {
		s.t.Log(err)
	}
}

// start runs the server in the caller's network namespace.
func (s *server) start(up func(netlink.Kernel, string)) {
	k, err := netlink.Open()
	if err != nil {
		s.t.Error(err)

		return
	}
	defer k.Close()

	up(k, "server")

	srv, err := server6.NewServer("server", nil, s.handle)
	if err != nil {
		s.t.Error(err)

		return
	}

	s.t.Cleanup(func() { _ = srv.Close() })

	go srv.Serve()
}

// raise sets a link up.
func raise(t *testing.T) func(netlink.Kernel, string) {
	return func(k netlink.Kernel, name string) {
		up := true
		if err := k.SetLink(named(t, k, name).Index, netlink.LinkChange{Up: &up}); err != nil {
			t.Error(err)
		}
	}
}

func named(t *testing.T, k netlink.Kernel, name string) netlink.Link {
	t.Helper()

	links, err := k.Links()
	if err != nil {
		t.Fatal(err)
	}

	return links[slices.IndexFunc(links, func(l netlink.Link) bool { return l.Name == name })]
}

func TestRealServer(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()

	if err := k.CreateLink(netlink.NewLink{Name: "client", Kind: "veth", VethPeer: "server"}); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			t.Skip("this kernel has no veth")
		}

		t.Fatal(err)
	}

	s := &server{t: t}
	other := nstest.NewNetwork(t)
	other.Take(named(t, k, "server").Index)
	other.Do(func() { s.start(raise(t)) })
	raise(t)(k, "client")

	link := &Link{Name: "client", HardwareAddr: named(t, k, "client").Address, Hostname: func() string { return "node-1" }}
	ctx := t.Context()

	// The link-local address is tested for a second before it can be used.
	var lease *Lease

	for deadline := time.Now().Add(20 * time.Second); lease == nil; {
		if lease, err = link.Ask(ctx, dhcp.Acquire, nil, time.Second); err != nil {
			if time.Now().After(deadline) {
				t.Fatal(err)
			}

			time.Sleep(50 * time.Millisecond)
		}
	}

	want := &Lease{
		Addresses: []netip.Addr{netip.MustParseAddr("2001:db8::2")}, DNS: []netip.Addr{netip.MustParseAddr("2001:db8::53")},
		Renew: 10 * time.Second, Rebind: 20 * time.Second, Expire: time.Minute,
	}
	if diff := cmp.Diff(want, lease, compare); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}

	s.mu.Lock()
	s.seen = nil
	s.mu.Unlock()

	for _, ask := range []func() (*Lease, error){
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Acquire, nil, 5*time.Second) },
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Renew, lease, 5*time.Second) },
		func() (*Lease, error) { return link.Ask(ctx, dhcp.Rebind, lease, 5*time.Second) },
	} {
		if got, err := ask(); err != nil || !slices.Equal(got.Addresses, lease.Addresses) {
			t.Errorf("got %v, %v, want the same address", got, err)
		}
	}

	if got, err := link.Ask(ctx, dhcp.Inform, nil, 5*time.Second); err != nil || !slices.Equal(got.DNS, lease.DNS) || len(got.Addresses) != 0 {
		t.Errorf("stateless: got %+v, %v, want the DNS server", got, err)
	}

	s.set(true, false)

	if _, err := link.Ask(ctx, dhcp.Renew, lease, 5*time.Second); !errors.Is(err, ErrRefused) {
		t.Errorf("the server knows nothing of it: got %v, want ErrRefused", err)
	}

	s.set(false, true)

	if _, err := link.Ask(ctx, dhcp.Acquire, nil, 200*time.Millisecond); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("silence: got %v, want an error of time", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	wantSeen := []string{
		"SOLICIT called node-1", "REQUEST called node-1", "RENEW called node-1", "REBIND called node-1", "INFORMATION-REQUEST called node-1",
		"RENEW called node-1", "SOLICIT called node-1",
	}
	if diff := cmp.Diff(wantSeen, s.seen); diff != "" {
		t.Errorf("the server saw (-want +got):\n%s", diff)
	}

	if len(slices.Compact(slices.Sorted(slices.Values(s.clients)))) != 1 {
		t.Errorf("the client called itself by several identifiers: %q", s.clients)
	}
}

func (s *server) set(unknown, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.unknown, s.silent = unknown, silent
}

// A link that was removed is an error and not a panic.
func TestNoLink(t *testing.T) {
	link := &Link{Name: "absent", HardwareAddr: []byte{2, 0, 0, 0, 0, 1}}

	if _, err := link.Ask(t.Context(), dhcp.Acquire, nil, time.Second); err == nil {
		t.Error("got no error")
	}
}
