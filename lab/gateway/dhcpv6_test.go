// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

// leased6 gives the first machine an IPv6 lease and a prefix.
func leased6(c *Config) {
	dualStack(c)

	c.Hosts[0].Addr6 = netip.MustParseAddr("fd05::2")
	c.Hosts[0].Delegated = netip.MustParsePrefix("fd05:0:0:100::/56")
	c.Hosts[1].DUID = []byte{0, 2, 0, 0, 0xab, 0x11, 1, 2, 3, 4}
}

// linkLocalOf returns the source address of a host's messages.
func linkLocalOf(h Host) netip.Addr { return SLAAC(linkLocal6, h.MAC) }

func TestAnswerDHCPv6(t *testing.T) {
	cfg := testConfig(t, leased6)
	node, elsewhere := cfg.Hosts[0], netip.MustParseAddr("fe80::1234")
	ll := &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: node.MAC}
	uuid := &dhcpv6.DUIDUUID{UUID: [16]byte{1}}
	server := &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: cfg.MAC}

	ask := func(kind dhcpv6.MessageType, more ...dhcpv6.Modifier) *dhcpv6.Message {
		m := &dhcpv6.Message{MessageType: kind, TransactionID: dhcpv6.TransactionID{1, 2, 3}}
		for _, mod := range more {
			mod(m)
		}

		return m
	}
	client, to := dhcpv6.WithClientID, dhcpv6.WithServerID
	ia := func(addrs ...string) dhcpv6.Modifier {
		ia := &dhcpv6.OptIANA{IaId: [4]byte{0, 0, 0, 7}}
		for _, addr := range addrs {
			ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP(addr)})
		}

		return dhcpv6.WithOption(ia)
	}
	pd := dhcpv6.WithOption(&dhcpv6.OptIAPD{IaId: [4]byte{0, 0, 0, 8}})
	all := dhcpv6.WithRequestedOptions(dhcpv6.OptionDNSRecursiveNameServer, dhcpv6.OptionDomainSearchList, dhcpv6.OptionNTPServer,
		dhcpv6.OptionFQDN, dhcpv6.OptionInformationRefreshTime)

	const (
		lease = " na 7 t1 30m0s t2 48m0s fd05::2 37m30s 1h0m0s"
		none  = " na 7 t1 0s t2 0s NoAddrsAvail"
		info  = " dns [fd05::1] search [demo.lab.internal] ntp [fd05::1] name demo-controlplane-1.demo.lab.internal"
	)

	tests := []struct {
		name string
		in   *dhcpv6.Message
		from netip.Addr
		b    DHCPv6Behaviour
		want string
		err  string
	}{
		{"solicit", ask(dhcpv6.MessageTypeSolicit, client(ll), ia(), all), elsewhere, DHCPv6Behaviour{}, "ADVERTISE" + lease + info, ""},
		{"solicit, nothing else wanted", ask(dhcpv6.MessageTypeSolicit, client(ll), ia()), elsewhere, DHCPv6Behaviour{}, "ADVERTISE" + lease, ""},
		{"rapid commit", ask(dhcpv6.MessageTypeSolicit, client(ll), ia(), dhcpv6.WithRapidCommit), elsewhere, DHCPv6Behaviour{}, "REPLY rapid" + lease, ""},
		{"no rapid commit", ask(dhcpv6.MessageTypeSolicit, client(ll), ia(), dhcpv6.WithRapidCommit), elsewhere,
			DHCPv6Behaviour{NoRapidCommit: true}, "ADVERTISE" + lease, ""},
		{"known by its address", ask(dhcpv6.MessageTypeSolicit, client(uuid), ia()), linkLocalOf(node), DHCPv6Behaviour{}, "ADVERTISE" + lease, ""},
		{"known by DUID-LLT", ask(dhcpv6.MessageTypeSolicit, client(&dhcpv6.DUIDLLT{HWType: 1, Time: 9, LinkLayerAddr: node.MAC}), ia()), elsewhere,
			DHCPv6Behaviour{}, "ADVERTISE" + lease, ""},
		{"known by its configured DUID", ask(dhcpv6.MessageTypeSolicit, client(&dhcpv6.DUIDEN{EnterpriseNumber: 0xab11, EnterpriseIdentifier: []byte{1, 2, 3, 4}}), ia()),
			elsewhere, DHCPv6Behaviour{}, "ADVERTISE na 7 t1 30m0s t2 48m0s fd05::5054:ff:fe00:3 37m30s 1h0m0s", ""},
		{"a stranger", ask(dhcpv6.MessageTypeSolicit, client(uuid), ia()), elsewhere, DHCPv6Behaviour{}, "", "no host has the identifier"},
		{"request", ask(dhcpv6.MessageTypeRequest, client(ll), to(server), ia("fd05::2")), elsewhere, DHCPv6Behaviour{}, "REPLY" + lease, ""},
		{"request to another server", ask(dhcpv6.MessageTypeRequest, client(ll), to(uuid), ia("fd05::2")), elsewhere, DHCPv6Behaviour{}, "", ""},
		{"request to no server", ask(dhcpv6.MessageTypeRequest, client(ll), ia("fd05::2")), elsewhere, DHCPv6Behaviour{}, "", "without a server's identifier"},
		{"solicit to one server", ask(dhcpv6.MessageTypeSolicit, client(ll), to(server), ia()), elsewhere, DHCPv6Behaviour{}, "", "for all servers"},
		{"no client", ask(dhcpv6.MessageTypeSolicit, ia()), elsewhere, DHCPv6Behaviour{}, "", "no identifier"},
		{"renewal of another address", ask(dhcpv6.MessageTypeRenew, client(ll), to(server), ia("fd05::9")), elsewhere, DHCPv6Behaviour{},
			"REPLY" + lease + " fd05::9 0s 0s", ""},
		{"the longest lease", ask(dhcpv6.MessageTypeRebind, client(ll), ia("fd05::2")), elsewhere, DHCPv6Behaviour{LeaseTime: maxLease},
			"REPLY na 7 t1 596523h14m7s t2 954437h10m35s fd05::2 745654h2m38s 1193046h28m14s", ""},
		{"rebinding", ask(dhcpv6.MessageTypeRebind, client(ll), ia("fd05::2")), elsewhere, DHCPv6Behaviour{LeaseTime: 10 * time.Second},
			"REPLY na 7 t1 5s t2 8s fd05::2 6s 10s", ""},
		{"a second association", ask(dhcpv6.MessageTypeRequest, client(ll), to(server), ia("fd05::2"), func(m dhcpv6.DHCPv6) {
			m.AddOption(&dhcpv6.OptIANA{IaId: [4]byte{0, 0, 0, 9}})
		}), elsewhere, DHCPv6Behaviour{}, "REPLY" + lease + " na 9 t1 0s t2 0s NoAddrsAvail", ""},
		{"no addresses", ask(dhcpv6.MessageTypeRequest, client(ll), to(server), ia("fd05::2")), elsewhere, DHCPv6Behaviour{NoAddresses: true},
			"REPLY" + none + " fd05::2 0s 0s", ""},
		{"prefix", ask(dhcpv6.MessageTypeSolicit, client(ll), pd), elsewhere, DHCPv6Behaviour{},
			"ADVERTISE pd 8 t1 30m0s t2 48m0s fd05:0:0:100::/56 37m30s 1h0m0s", ""},
		{"no prefix", ask(dhcpv6.MessageTypeSolicit, client(uuid), pd), linkLocalOf(cfg.Hosts[1]), DHCPv6Behaviour{},
			"ADVERTISE pd 8 t1 0s t2 0s NoPrefixAvail", ""},
		{"confirm", ask(dhcpv6.MessageTypeConfirm, client(ll), ia("fd05::77")), elsewhere, DHCPv6Behaviour{}, "REPLY Success", ""},
		{"confirm elsewhere", ask(dhcpv6.MessageTypeConfirm, client(uuid), ia("fd06::77")), elsewhere, DHCPv6Behaviour{}, "REPLY NotOnLink", ""},
		{"confirm nothing", ask(dhcpv6.MessageTypeConfirm, client(ll), ia()), elsewhere, DHCPv6Behaviour{}, "", ""},
		{"release", ask(dhcpv6.MessageTypeRelease, client(ll), to(server), ia("fd05::2")), elsewhere, DHCPv6Behaviour{}, "REPLY Success", ""},
		{"decline", ask(dhcpv6.MessageTypeDecline, client(ll), to(server), ia("fd05::2")), elsewhere, DHCPv6Behaviour{}, "", "another host has it"},
		{"information", ask(dhcpv6.MessageTypeInformationRequest, client(ll), all), elsewhere, DHCPv6Behaviour{}, "REPLY refresh 1h0m0s" + info, ""},
		{"information for a stranger", ask(dhcpv6.MessageTypeInformationRequest, all), elsewhere, DHCPv6Behaviour{Stateless: true},
			"REPLY refresh 1h0m0s dns [fd05::1] search [demo.lab.internal] ntp [fd05::1]", ""},
		{"stateless", ask(dhcpv6.MessageTypeSolicit, client(ll), ia()), elsewhere, DHCPv6Behaviour{Stateless: true}, "", ""},
		{"a server's message", ask(dhcpv6.MessageTypeAdvertise, client(ll), ia()), elsewhere, DHCPv6Behaviour{}, "", "not a client's"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := cfg.answerDHCPv6(tt.in, tt.from, tt.b)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got error %v, want %q", err, tt.err)
			}

			if reply == nil {
				if tt.want != "" {
					t.Errorf("got no reply, want %q", tt.want)
				}

				return
			}

			// Check the reply as a client decodes it.
			decoded, err := dhcpv6.MessageFromBytes(reply.ToBytes())
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(tt.want, leaseString6(decoded)); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}

			if decoded.TransactionID != tt.in.TransactionID || !server.Equal(decoded.Options.ServerID()) {
				t.Errorf("got transaction %v of server %v", decoded.TransactionID, decoded.Options.ServerID())
			}

			if want := tt.in.Options.ClientID(); want != nil && !want.Equal(decoded.Options.ClientID()) {
				t.Errorf("got client %v, want %v", decoded.Options.ClientID(), want)
			}
		})
	}
}

func leaseString6(m *dhcpv6.Message) string {
	words := []string{m.Type().String()}
	if m.GetOneOption(dhcpv6.OptionRapidCommit) != nil {
		words = append(words, "rapid")
	}

	if s := m.Options.Status(); s != nil {
		words = append(words, s.StatusCode.String())
	}

	if d := m.Options.InformationRefreshTime(0); d != 0 {
		words = append(words, "refresh", d.String())
	}

	for _, ia := range m.Options.IANA() {
		words = append(words, fmt.Sprintf("na %d t1 %v t2 %v", ia.IaId[3], ia.T1, ia.T2))
		if s := ia.Options.Status(); s != nil {
			words = append(words, s.StatusCode.String())
		}

		for _, addr := range ia.Options.Addresses() {
			words = append(words, fmt.Sprint(addr.IPv6Addr, " ", addr.PreferredLifetime, " ", addr.ValidLifetime))
		}
	}

	for _, ia := range m.Options.IAPD() {
		words = append(words, fmt.Sprintf("pd %d t1 %v t2 %v", ia.IaId[3], ia.T1, ia.T2))
		if s := ia.Options.Status(); s != nil {
			words = append(words, s.StatusCode.String())
		}

		for _, p := range ia.Options.Prefixes() {
			words = append(words, fmt.Sprint(p.Prefix, " ", p.PreferredLifetime, " ", p.ValidLifetime))
		}
	}

	if list := m.Options.DNS(); list != nil {
		words = append(words, "dns", ips(list))
	}

	if list := m.Options.DomainSearchList(); list != nil {
		words = append(words, "search", fmt.Sprint(list.Labels))
	}

	if list := m.Options.NTPServers(); list != nil {
		words = append(words, "ntp", ips(list))
	}

	if name := m.Options.FQDN(); name != nil {
		words = append(words, "name", strings.Join(name.DomainName.Labels, "."))
	}

	return strings.Join(words, " ")
}

// TestDHCPv6OverTheSwitch checks that a client gets its lease through the group address, and what a server that
// misbehaves sends.
func TestDHCPv6OverTheSwitch(t *testing.T) {
	_, gw, m := newLab(t, leased6)
	client := &Gateway{stack: m.Stack} // has the port that hears multicasts
	conn, err := client.listenAny(ipv6.ProtocolNumber, dhcpv6.DefaultClientPort)

	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	solicit, err := dhcpv6.NewSolicit(testConfig(t).Hosts[0].MAC, dhcpv6.WithRapidCommit)
	if err != nil {
		t.Fatal(err)
	}

	exchange := func(want string) string {
		t.Helper()

		wait := 30 * time.Second
		if want == "" {
			wait = 300 * time.Millisecond
		}

		servers := &net.UDPAddr{IP: dhcpv6.AllDHCPRelayAgentsAndServers, Port: dhcpv6.DefaultServerPort}
		if _, err := conn.WriteTo(solicit.ToBytes(), servers); err != nil {
			t.Fatal(err)
		}

		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}

		buf := make([]byte, 1500)

		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			return "" // timed out
		}

		reply, err := dhcpv6.MessageFromBytes(buf[:n])
		if err != nil {
			t.Fatal(err)
		}

		return leaseString6(reply)
	}

	for _, tt := range []struct {
		b    DHCPv6Behaviour
		want []string // word of each answer in turn, none for silence
	}{
		{DHCPv6Behaviour{}, []string{"REPLY rapid na", "fd05::2 "}},
		{DHCPv6Behaviour{Silent: true}, []string{""}},
		{DHCPv6Behaviour{StopAfter: 1}, []string{"fd05::2 ", ""}},
		{DHCPv6Behaviour{NoAddresses: true}, []string{"NoAddrsAvail"}},
		{DHCPv6Behaviour{Delay: time.Minute}, []string{""}},
	} {
		if err := gw.SetDHCPv6(tt.b); err != nil {
			t.Fatal(err)
		}

		for _, want := range tt.want {
			if got := exchange(want); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%+v: got %q, want one with %q", tt.b, got, want)
			}
		}
	}

	if err := gw.SetDHCPv6(DHCPv6Behaviour{LeaseTime: -1}); err == nil {
		t.Error("a negative lease time was accepted")
	}
}

// FuzzAnswerDHCPv6 checks that no message crashes the server, and that only the lab's machines get leases, each of its
// own address.
func FuzzAnswerDHCPv6(f *testing.F) {
	cfg := testConfig(f, leased6)

	for _, mod := range []dhcpv6.Modifier{dhcpv6.WithRapidCommit, dhcpv6.WithIAPD([4]byte{1}), dhcpv6.WithFQDN(0, "x")} {
		solicit, err := dhcpv6.NewSolicit(cfg.Hosts[0].MAC, mod)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(solicit.ToBytes(), true)
	}

	f.Add([]byte{11, 1, 2, 3}, false)

	f.Fuzz(func(t *testing.T, packet []byte, local bool) {
		request, err := dhcpv6.MessageFromBytes(packet)
		if err != nil {
			return
		}

		from := netip.MustParseAddr("fe80::1")
		if local {
			from = linkLocalOf(cfg.Hosts[1])
		}

		reply, err := cfg.answerDHCPv6(request, from, DHCPv6Behaviour{})
		if err != nil || reply == nil {
			return
		}

		decoded, err := dhcpv6.MessageFromBytes(reply.ToBytes())
		if err != nil {
			t.Fatalf("the reply does not decode: %v", err)
		}

		host := cfg.hostByDUID(request.Options.ClientID(), from)

		for _, ia := range decoded.Options.IANA() {
			for _, addr := range ia.Options.Addresses() {
				if addr.ValidLifetime > 0 && (host == nil || !addr.IPv6Addr.Equal(net.IP(host.Addr6.AsSlice()))) {
					t.Fatalf("got address %v for host %v", addr.IPv6Addr, host)
				}
			}
		}
	})
}
