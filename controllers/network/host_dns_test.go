// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// sockets stand for those of the machine's DNS server: each address is a free port of the loopback.
type sockets struct {
	mu   sync.Mutex
	at   map[netip.AddrPort]string
	fail map[netip.AddrPort]bool
}

func (s *sockets) listen(_ context.Context, at netip.AddrPort) (net.PacketConn, net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.fail[at] {
		return nil, nil, errors.New("the address is in use")
	}

	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}

	l, err := net.Listen("tcp", p.LocalAddr().String())
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}

	s.at[at] = p.LocalAddr().String()

	return p, l, nil
}

// ask asks the server on one of its addresses.
func (s *sockets) ask(t *testing.T, at netip.AddrPort, name string) string {
	t.Helper()

	s.mu.Lock()
	to := s.at[at]
	s.mu.Unlock()

	reply, err := dns.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion(name, dns.TypeA), to)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}

	out := dns.RcodeToString[reply.Rcode]
	for _, rr := range reply.Answer {
		out += " " + rr.(*dns.A).A.String()
	}

	return out
}

const hostDNSOn = `
version: v1alpha1
machine:
  type: worker
  network:
    hostname: node-7
    nameservers: [192.0.2.53]
    extraHostEntries: [{ip: 192.0.2.99, aliases: [registry.example]}]
    interfaces: [{interface: eth0, addresses: [192.0.2.7/24]}]
  features:
    hostDNS: {enabled: true, forwardKubeDNSToHost: true, resolveMemberNames: true}
`

// TestHostDNS: the server runs before the machine is configured, answers its names on all addresses, and resolv.conf follows.
func TestHostDNS(t *testing.T) {
	s := &sockets{at: map[netip.AddrPort]string{}, fail: map[netip.AddrPort]bool{}}
	m := newMachineWith(t, func(d *Deps) { d.ListenDNS = s.listen }, ethernet("eth0", 1))
	m.boot("")

	resolvConf := func(id, want string) {
		t.Helper()

		await(m, "", id, func(f files.EtcFileSpecSpec) bool { return strings.HasPrefix(f.Contents, want) })
	}

	running := func(s network.DNSResolveCacheSpec) bool { return s.Status == network.DNSRunning }

	await(m, "", "udp-127.0.0.53:53", running)
	await(m, "", "tcp-127.0.0.53:53", running)
	resolvConf(files.ResolvConf, "nameserver 127.0.0.53\n")
	resolvConf(files.PodResolvConf, "nameserver 1.1.1.1\nnameserver 8.8.8.8\n")

	m.configure(hostDNSOn)
	await(m, "", "udp-169.254.116.108:53", running)
	await(m, "", "192.0.2.53:53", func(u network.DNSUpstreamSpec) bool { return u.Order == 0 })
	awaitGone[network.DNSUpstreamSpec](m, "", "1.1.1.1:53")
	await(m, "", "lo/169.254.116.108/32", func(a network.AddressStatusSpec) bool { return a.Scope == nethelpers.ScopeHost })
	resolvConf(files.ResolvConf, "nameserver 127.0.0.53\n")
	resolvConf(files.PodResolvConf, "nameserver 169.254.116.108\n")

	member := cluster.MemberSpec{Hostname: "node-8.example.com", Addresses: []netip.Addr{addr("192.0.2.8")}}
	for id, spec := range map[string]cluster.MemberSpec{"node-8": member, "node-9": {Hostname: "registry.example", Addresses: []netip.Addr{addr("192.0.2.66")}}} {
		if err := typed.Set(t.Context(), m.state, "", id, spec); err != nil {
			t.Fatal(err)
		}
	}

	await(m, "", network.NodeAddressDefaultID, func(s network.NodeAddressSpec) bool {
		return slices.Equal(s.Addresses, []netip.Prefix{prefix("192.0.2.7/24")})
	})

	for id, want := range map[string]string{"node-7": "192.0.2.7", "registry.example": "192.0.2.99"} {
		await(m, "", id, func(h network.StaticHostSpec) bool { return slices.Equal(h.Addresses, []netip.Addr{addr(want)}) })
	}

	pods := netip.AddrPortFrom(network.HostDNSAddress4, 53)

	for _, tt := range []struct {
		at         netip.AddrPort
		name, want string
	}{
		{network.HostDNSLoopback, "node-7.", "NOERROR 192.0.2.7"},
		{pods, "node-7.", "NOERROR 192.0.2.7"},
		{pods, "node-8.", "NOERROR 192.0.2.8"},
		{pods, "node-8.example.com.", "NOERROR 192.0.2.8"},
		{pods, "registry.example.", "NOERROR 192.0.2.99"}, // the configuration, not the member that has this name
	} {
		m.eventually(tt.name, func() bool { return s.ask(t, tt.at, tt.name) == tt.want })
	}

	m.configure(strings.Replace(hostDNSOn, "enabled: true", "enabled: false", 1))
	awaitGone[network.DNSResolveCacheSpec](m, "", "udp-127.0.0.53:53")
	awaitGone[network.DNSResolveCacheSpec](m, "", "udp-169.254.116.108:53")
	awaitGone[network.AddressStatusSpec](m, "", "lo/169.254.116.108/32")
	resolvConf(files.ResolvConf, "nameserver 192.0.2.53\n")
	resolvConf(files.PodResolvConf, "nameserver 192.0.2.53\n")
}

// TestHostDNSCannotListen: a server that cannot run is not in resolv.conf, says why, and is started again.
func TestHostDNSCannotListen(t *testing.T) {
	pods := netip.AddrPortFrom(network.HostDNSAddress4, 53)
	s := &sockets{at: map[netip.AddrPort]string{}, fail: map[netip.AddrPort]bool{network.HostDNSLoopback: true, pods: true}}
	m := newMachineWith(t, func(d *Deps) { d.ListenDNS = s.listen }, ethernet("eth0", 1))
	m.boot("")
	m.configure(hostDNSOn)

	await(m, "", "udp-127.0.0.53:53", func(s network.DNSResolveCacheSpec) bool { return strings.Contains(s.Status, "in use") })
	await(m, "", files.ResolvConf, func(f files.EtcFileSpecSpec) bool { return f.Contents == "nameserver 192.0.2.53\n" })
	await(m, "", files.PodResolvConf, func(f files.EtcFileSpecSpec) bool { return f.Contents == "nameserver 192.0.2.53\n" })

	s.mu.Lock()
	clear(s.fail)
	s.mu.Unlock()

	await(m, "", files.ResolvConf, func(f files.EtcFileSpecSpec) bool { return f.Contents == "nameserver 127.0.0.53\n" })
	await(m, "", files.PodResolvConf, func(f files.EtcFileSpecSpec) bool { return f.Contents == "nameserver 169.254.116.108\n" })
}

// TestEncryptedResolvers: the document's protocols reach the upstreams, and what cannot ask over TLS does not ask these servers.
func TestEncryptedResolvers(t *testing.T) {
	s := &sockets{at: map[netip.AddrPort]string{}}
	m := newMachineWith(t, func(d *Deps) { d.ListenDNS = s.listen }, ethernet("eth0", 1))
	m.boot("")
	m.configure(`version: v1alpha1
machine: {type: worker}
---
apiVersion: v1alpha1
kind: ResolverConfig
nameservers:
  - address: 192.0.2.1
    protocol: DoT
    tlsServerName: dns.example
  - address: 192.0.2.2
  - address: 2001:db8::3
    protocol: DoH
  - address: 2001:db8::3
hostDNS: {enabled: true}
`)

	for id, want := range map[string]network.DNSUpstreamSpec{
		"192.0.2.1:853":     {Protocol: nethelpers.DNSProtocolDoT, TLSServerName: "dns.example", Order: 0},
		"192.0.2.2:53":      {Order: 1},
		"[2001:db8::3]:443": {Protocol: nethelpers.DNSProtocolDoH, Order: 2},
		"[2001:db8::3]:53":  {Order: 3}, // one server in both ways
	} {
		want.Address = netip.MustParseAddrPort(id)
		await(m, "", id, func(got network.DNSUpstreamSpec) bool { return got == want })
	}

	await(m, "", network.ResolverID, func(r network.ResolverStatusSpec) bool {
		return cmp.Equal([]netip.Addr{addr("192.0.2.1"), addr("192.0.2.2"), addr("2001:db8::3")}, r.DNSServers, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
	})
	await(m, "", files.PodResolvConf, func(f files.EtcFileSpecSpec) bool {
		return f.Contents == "nameserver 192.0.2.2\nnameserver 2001:db8::3\n"
	})
	await(m, "", files.ResolvConf, func(f files.EtcFileSpecSpec) bool { return f.Contents == "nameserver 127.0.0.53\n" })
}
