// SPDX-License-Identifier: Apache-2.0

package dhcp4

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

var compareAddrs = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

func answer(t testing.TB, mods ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()

	m, err := dhcpv4.New(append([]dhcpv4.Modifier{
		dhcpv4.WithMessageType(dhcpv4.MessageTypeAck),
		dhcpv4.WithYourIP(net.IPv4(172, 20, 0, 2)),
		dhcpv4.WithNetmask(net.CIDRMask(24, 32)),
		dhcpv4.WithLeaseTime(3600),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(172, 20, 0, 1))),
	}, mods...)...)
	if err != nil {
		t.Fatal(err)
	}

	return m
}

func ipNet(s string) *net.IPNet {
	_, n, err := net.ParseCIDR(s)
	if err != nil {
		panic(err)
	}

	return n
}

func TestFromACK(t *testing.T) {
	gw := netip.MustParseAddr("172.20.0.1")
	base := func(change func(*Lease)) *Lease {
		l := &Lease{
			Address: netip.MustParsePrefix("172.20.0.2/24"), Server: gw,
			Renew: 30 * time.Minute, Rebind: 3150 * time.Second, Expire: time.Hour,
		}
		change(l)

		return l
	}

	for _, tt := range []struct {
		name    string
		mods    []dhcpv4.Modifier
		want    *Lease
		wantErr string
	}{
		{name: "bare", want: base(func(*Lease) {})},
		{
			name: "all",
			mods: []dhcpv4.Modifier{
				dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(172, 20, 0, 1), net.IPv4(172, 20, 0, 254))),
				dhcpv4.WithOption(dhcpv4.OptDNS(net.IPv4(172, 20, 0, 1), net.IPv4zero)),
				dhcpv4.WithOption(dhcpv4.OptNTPServers(net.IPv4(172, 20, 0, 3))),
				dhcpv4.WithOption(dhcpv4.OptHostName("node-1\x00")),
				dhcpv4.WithOption(dhcpv4.OptDomainName("example.com.")),
				dhcpv4.WithOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: []string{"a.example", "b c"}})),
				dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0x05, 0x78}),
				dhcpv4.WithGeneric(dhcpv4.OptionRenewTimeValue, []byte{0, 0, 0, 10}),
				dhcpv4.WithGeneric(dhcpv4.OptionRebindingTimeValue, []byte{0, 0, 0, 20}),
			},
			want: base(func(l *Lease) {
				l.Routes = []Route{{netip.MustParsePrefix("0.0.0.0/0"), gw}, {netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("172.20.0.254")}}
				l.DNS, l.NTP = []netip.Addr{gw}, []netip.Addr{netip.MustParseAddr("172.20.0.3")}
				l.Hostname, l.Domain, l.Search, l.MTU = "node-1", "example.com", []string{"a.example"}, 1400
				l.Renew, l.Rebind = 10*time.Second, 20*time.Second
			}),
		},
		{
			name: "classless routes rule out routers",
			mods: []dhcpv4.Modifier{
				dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(172, 20, 0, 1))),
				dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(
					&dhcpv4.Route{Dest: ipNet("169.254.169.254/32"), Router: net.IPv4zero},
					&dhcpv4.Route{Dest: ipNet("0.0.0.0/0"), Router: net.IPv4(172, 20, 0, 9)},
				)),
			},
			want: base(func(l *Lease) {
				l.Routes = []Route{{Destination: netip.MustParsePrefix("169.254.169.254/32")}, {netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("172.20.0.9")}}
			}),
		},
		{
			name: "times out of order",
			mods: []dhcpv4.Modifier{
				dhcpv4.WithGeneric(dhcpv4.OptionRenewTimeValue, []byte{0, 0, 0x20, 0}),
				dhcpv4.WithGeneric(dhcpv4.OptionRebindingTimeValue, []byte{0, 0, 0x10, 0}),
			},
			want: base(func(*Lease) {}),
		},
		{name: "infinite", mods: []dhcpv4.Modifier{dhcpv4.WithLeaseTime(infinite)}, want: base(func(l *Lease) { l.Renew, l.Rebind, l.Expire = 0, 0, 0 })},
		{name: "no mask", mods: []dhcpv4.Modifier{dhcpv4.WithoutOption(dhcpv4.OptionSubnetMask)}, want: base(func(l *Lease) { l.Address = netip.MustParsePrefix("172.20.0.2/16") })},
		{name: "mask with holes", mods: []dhcpv4.Modifier{dhcpv4.WithNetmask(net.IPv4Mask(255, 0, 255, 0))}, want: base(func(l *Lease) { l.Address = netip.MustParsePrefix("172.20.0.2/16") })},
		{name: "wrong names and MTU", mods: []dhcpv4.Modifier{
			dhcpv4.WithOption(dhcpv4.OptHostName("a\nnameserver 6.6.6.6")), dhcpv4.WithOption(dhcpv4.OptDomainName(strings.Repeat("a", 255))),
			dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0, 60}),
		}, want: base(func(*Lease) {})},
		{name: "no address", mods: []dhcpv4.Modifier{dhcpv4.WithYourIP(net.IPv4zero)}, wantErr: "is not a valid address for a machine"},
		{name: "multicast", mods: []dhcpv4.Modifier{dhcpv4.WithYourIP(net.IPv4(224, 0, 0, 1))}, wantErr: "is not a valid address for a machine"},
		{name: "no lease time", mods: []dhcpv4.Modifier{dhcpv4.WithoutOption(dhcpv4.OptionIPAddressLeaseTime)}, wantErr: "no lease time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FromACK(answer(t, tt.mods...))
			if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Fatalf("got error %v, want %q", err, tt.wantErr)
			}

			if diff := cmp.Diff(tt.want, got, compareAddrs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzFromACK(f *testing.F) {
	f.Add(answer(f).ToBytes())
	f.Add(answer(f, dhcpv4.WithLeaseTime(infinite-1)).ToBytes())
	f.Add(answer(f, dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(&dhcpv4.Route{Dest: ipNet("10.0.0.0/8"), Router: net.IPv4zero}))).ToBytes())
	f.Fuzz(func(t *testing.T, packet []byte) {
		m, err := dhcpv4.FromBytes(packet)
		if err != nil {
			return
		}

		l, err := FromACK(m)
		if err != nil {
			return
		}

		if !l.Address.IsValid() || !l.Address.Addr().Is4() {
			t.Errorf("address %s", l.Address)
		}

		if l.Expire != 0 && (l.Renew <= 0 || l.Renew >= l.Rebind || l.Rebind >= l.Expire) {
			t.Errorf("times %s %s %s are out of order", l.Renew, l.Rebind, l.Expire)
		}

		for _, name := range append([]string{l.Hostname, l.Domain}, l.Search...) {
			if strings.ContainsAny(name, "\n\r\t #;/\x00") {
				t.Errorf("name %q", name)
			}
		}

		for _, r := range l.Routes {
			if !r.Destination.IsValid() {
				t.Errorf("route %v", r)
			}
		}
	})
}
