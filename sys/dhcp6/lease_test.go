// SPDX-License-Identifier: Apache-2.0

package dhcp6

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

var compare = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmpopts.IgnoreUnexported(Lease{}), cmpopts.EquateEmpty(),
}

func reply(t testing.TB, mods ...dhcpv6.Modifier) *dhcpv6.Message {
	t.Helper()

	m, err := dhcpv6.NewMessage(append([]dhcpv6.Modifier{func(d dhcpv6.DHCPv6) {
		d.(*dhcpv6.Message).MessageType = dhcpv6.MessageTypeReply
	}}, mods...)...)
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func addresses(t1, t2, preferred, valid time.Duration, addrs ...string) dhcpv6.Modifier {
	ia := &dhcpv6.OptIANA{T1: t1, T2: t2}
	for _, a := range addrs {
		ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP(a), PreferredLifetime: preferred, ValidLifetime: valid})
	}

	return dhcpv6.WithOption(ia)
}

func refusal(code iana.StatusCode) dhcpv6.Modifier {
	ia := &dhcpv6.OptIANA{}
	ia.Options.Add(&dhcpv6.OptStatusCode{StatusCode: code})

	return dhcpv6.WithOption(ia)
}

func TestFromReply(t *testing.T) {
	own, dns := []netip.Addr{netip.MustParseAddr("2001:db8::2")}, netip.MustParseAddr("2001:db8::53")

	for _, tt := range []struct {
		name      string
		stateless bool
		mods      []dhcpv6.Modifier
		want      *Lease
		wantErr   string
		refused   bool
	}{
		{
			name: "all",
			mods: []dhcpv6.Modifier{
				addresses(10*time.Minute, 20*time.Minute, 30*time.Minute, time.Hour, "2001:db8::2"),
				dhcpv6.WithDNS(net.ParseIP("2001:db8::53"), net.IPv6unspecified), dhcpv6.WithDomainSearchList("lab.test", "b c"), dhcpv6.WithFQDN(0, "rack-6.lab.test"),
				dhcpv6.WithOption(dhcpv6.OptSNTP(net.ParseIP("2001:db8::123"))),
			},
			want: &Lease{
				Addresses: own, DNS: []netip.Addr{dns}, NTP: []netip.Addr{netip.MustParseAddr("2001:db8::123")}, Search: []string{"lab.test"}, Hostname: "rack-6.lab.test",
				Renew: 10 * time.Minute, Rebind: 20 * time.Minute, Expire: time.Hour,
			},
		},
		{
			name: "times are left to us",
			mods: []dhcpv6.Modifier{addresses(0, 0, 1000*time.Second, 2000*time.Second, "2001:db8::2")},
			want: &Lease{Addresses: own, Renew: 500 * time.Second, Rebind: 800 * time.Second, Expire: 2000 * time.Second},
		},
		{
			name: "times out of order",
			mods: []dhcpv6.Modifier{addresses(time.Hour, time.Minute, 3*time.Hour, 2000*time.Second, "2001:db8::2", "2001:db8::2", "fe80::1", "ff02::1")},
			want: &Lease{Addresses: own, Renew: 37500 * time.Millisecond, Rebind: time.Minute, Expire: 2000 * time.Second},
		},
		{name: "for good", mods: []dhcpv6.Modifier{addresses(infinite, infinite, infinite, infinite, "2001:db8::2")}, want: &Lease{Addresses: own}},
		{
			name: "stateless", stateless: true,
			mods: []dhcpv6.Modifier{dhcpv6.WithDNS(net.ParseIP("2001:db8::53")), dhcpv6.WithInformationRefreshTime(time.Second)},
			want: &Lease{DNS: []netip.Addr{dns}, Renew: leastRefresh, Rebind: leastRefresh, Expire: leastRefresh},
		},
		{name: "no address", mods: []dhcpv6.Modifier{addresses(0, 0, 0, 0, "2001:db8::2")}, wantErr: "no address"},
		{name: "no binding", mods: []dhcpv6.Modifier{refusal(iana.StatusNoBinding)}, wantErr: "does not know", refused: true},
		{name: "not on this link", mods: []dhcpv6.Modifier{dhcpv6.WithOption(&dhcpv6.OptStatusCode{StatusCode: iana.StatusNotOnLink})}, wantErr: "does not know", refused: true},
		{name: "no addresses left", mods: []dhcpv6.Modifier{refusal(iana.StatusNoAddrsAvail)}, wantErr: "NoAddrsAvail"},
		{name: "no reply", mods: []dhcpv6.Modifier{func(d dhcpv6.DHCPv6) { d.(*dhcpv6.Message).MessageType = dhcpv6.MessageTypeSolicit }}, wantErr: "want a reply"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// As received from the network.
			m, err := dhcpv6.MessageFromBytes(reply(t, tt.mods...).ToBytes())
			if err != nil {
				t.Fatal(err)
			}

			got, err := FromReply(m, tt.stateless)
			if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) || errors.Is(err, ErrRefused) != tt.refused {
				t.Fatalf("got error %v, want %q, refused %t", err, tt.wantErr, tt.refused)
			}

			if err == nil {
				if diff := cmp.Diff(tt.want, got, compare); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func FuzzFromReply(f *testing.F) {
	f.Add(reply(f, addresses(0, 0, infinite-time.Second, infinite-time.Second, "2001:db8::2")).ToBytes(), false)
	f.Add(reply(f, addresses(0, 0, time.Hour, time.Hour, "2001:db8::2"), dhcpv6.WithDNS(net.ParseIP("2001:db8::53"))).ToBytes(), false)
	f.Add(reply(f, dhcpv6.WithFQDN(0, "a\nb"), dhcpv6.WithDomainSearchList("x.test")).ToBytes(), true)
	f.Fuzz(func(t *testing.T, packet []byte, stateless bool) {
		m, err := dhcpv6.MessageFromBytes(packet)
		if err != nil {
			return
		}

		l, err := FromReply(m, stateless)
		if err != nil {
			return
		}

		if !stateless && len(l.Addresses) == 0 {
			t.Error("a stateful lease without an address")
		}

		if !stateless && l.Expire != 0 && (l.Renew <= 0 || l.Renew >= l.Rebind || l.Rebind >= l.Expire) {
			t.Errorf("times %s %s %s are out of order", l.Renew, l.Rebind, l.Expire)
		}

		for _, name := range append([]string{l.Hostname}, l.Search...) {
			if strings.ContainsAny(name, "\n\r\t #;/\x00") {
				t.Errorf("name %q", name)
			}
		}

		for _, a := range l.Addresses {
			if !usable(a) {
				t.Errorf("address %s", a)
			}
		}
	})
}
