// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

func TestAdvertisement(t *testing.T) {
	const (
		head   = "from fe80::5054:ff:fe00:1 hops 64 "
		link   = " link 52:54:00:00:00:01"
		prefix = " prefix fd05::/64 LA 24h0m0s 4h0m0s"
		dnsOpt = " dns [fd05::1] 30m0s search [demo.lab.internal] 30m0s"
	)

	tests := []struct {
		name string
		in   RouterAdvertisement
		want string
	}{
		{"default", RouterAdvertisement{}, head + "30m0s" + link + " mtu 1500" + prefix + dnsOpt},
		{"managed", RouterAdvertisement{Managed: true, NoAutonomous: true},
			head + "M 30m0s" + link + " mtu 1500 prefix fd05::/64 L 24h0m0s 4h0m0s" + dnsOpt},
		{"other", RouterAdvertisement{Other: true, NoOnLink: true},
			head + "O 30m0s" + link + " mtu 1500 prefix fd05::/64 A 24h0m0s 4h0m0s" + dnsOpt},
		{"no default router", RouterAdvertisement{NotDefault: true, NoDNS: true, NoMTU: true}, head + "0s" + link + prefix},
		{"no prefix", RouterAdvertisement{NoPrefix: true, Lifetime: time.Minute, MTU: 1280, NoDNS: true}, head + "1m0s" + link + " mtu 1280"},
		{"short preferred", RouterAdvertisement{Valid: time.Hour, NoDNS: true, NoMTU: true},
			head + "30m0s" + link + " prefix fd05::/64 LA 1h0m0s 1h0m0s"},
		{"deprecated", RouterAdvertisement{Deprecated: true, NoDNS: true, NoMTU: true},
			head + "30m0s" + link + " prefix fd05::/64 LA 24h0m0s 0s"},
		{"withdrawn", RouterAdvertisement{Withdrawn: true, NoDNS: true, NoMTU: true},
			head + "30m0s" + link + " prefix fd05::/64 LA 0s 0s"},
		{"for ever", RouterAdvertisement{Valid: raInfinite, Preferred: raInfinite, NoDNS: true, NoMTU: true},
			head + "30m0s" + link + " prefix fd05::/64 LA infinite infinite"},
		{"other DNS", RouterAdvertisement{
			DNS: []netip.Addr{netip.MustParseAddr("2001:db8::53"), netip.MustParseAddr("2001:db8::54")}, Search: []string{"a.example", "b"},
			NoMTU: true, NoPrefix: true, Lifetime: 10 * time.Second,
		}, head + "10s" + link + " dns [2001:db8::53 2001:db8::54] 30s search [a.example b] 30s"},
		{"another router", RouterAdvertisement{
			From: AnnouncedRouter{Addr: netip.MustParseAddr("fe80::9"), MAC: "52:54:00:00:09:09"}, NoMTU: true, NoPrefix: true, NoDNS: true,
		}, "from fe80::9 hops 64 30m0s link 52:54:00:00:09:09"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.in.Validate(); err != nil {
				t.Fatal(err)
			}

			got := describeRA(t, testConfig(t, dualStack).advertisement(tt.in))
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("advertisement (-want +got):\n%s", d)
			}
		})
	}
}

// describeRA reads an advertisement with the stack's decoders.
func describeRA(t *testing.T, frame []byte) string {
	t.Helper()

	eth := header.Ethernet(frame)
	if got, want := eth.DestinationAddress(), tcpip.LinkAddress("\x33\x33\x00\x00\x00\x01"); got != want || eth.Type() != header.IPv6ProtocolNumber {
		t.Fatalf("got a frame of type %v to %v", eth.Type(), got)
	}

	packet := header.IPv6(frame[header.EthernetMinimumSize:])
	if !packet.IsValid(len(packet)) || packet.HopLimit() != ndHopLimit {
		t.Fatalf("got packet % x", packet)
	}

	message := header.ICMPv6(packet.Payload())
	if sum := header.ICMPv6Checksum(header.ICMPv6ChecksumParams{
		Header: message, Src: packet.SourceAddress(), Dst: packet.DestinationAddress(),
	}); sum != message.Checksum() || message.Type() != header.ICMPv6RouterAdvert {
		t.Fatalf("got type %v, checksum %x, want %x", message.Type(), message.Checksum(), sum)
	}

	ra := header.NDPRouterAdvert(message.MessageBody())
	words := []string{"from", packet.SourceAddress().String(), "hops", fmt.Sprint(ra.CurrHopLimit())}

	if ra.ManagedAddrConfFlag() {
		words = append(words, "M")
	}

	if ra.OtherConfFlag() {
		words = append(words, "O")
	}

	words = append(words, ra.RouterLifetime().String())

	options, err := ra.Options().Iter(true)
	if err != nil {
		t.Fatal(err)
	}

	for {
		option, done, err := options.Next()
		if done || err != nil {
			// The stack skips the MTU, which comes after the link-layer address.
			mtu := frame[header.EthernetMinimumSize+header.IPv6MinimumSize+header.ICMPv6HeaderSize+header.NDPRAMinimumSize+8:]
			if len(mtu) > 8 && mtu[0] == ndMTU {
				words[indexOf(words, "link")+1] += fmt.Sprintf(" mtu %d", int(mtu[6])<<8|int(mtu[7]))
			} else if len(mtu) == 8 && mtu[0] == ndMTU {
				words = append(words, fmt.Sprintf("mtu %d", int(mtu[6])<<8|int(mtu[7])))
			}

			return strings.Join(words, " ")
		}

		switch option := option.(type) {
		case header.NDPSourceLinkLayerAddressOption:
			words = append(words, "link", net.HardwareAddr(option.EthernetAddress()).String())
		case header.NDPPrefixInformation:
			flags := ""
			if option.OnLinkFlag() {
				flags += "L"
			}

			if option.AutonomousAddressConfigurationFlag() {
				flags += "A"
			}

			words = append(words, "prefix", fmt.Sprintf("%v/%d", option.Prefix(), option.PrefixLength()), flags,
				lifetimeText(option.ValidLifetime()), lifetimeText(option.PreferredLifetime()))
		case header.NDPRecursiveDNSServer:
			servers, _ := option.Addresses()
			words = append(words, "dns", fmt.Sprint(servers), option.Lifetime().String())
		case header.NDPDNSSearchList:
			names, _ := option.DomainNames()
			words = append(words, "search", fmt.Sprint(names), option.Lifetime().String())
		}
	}
}

func indexOf(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}

	return -1
}

func lifetimeText(d time.Duration) string {
	if d == header.NDPInfiniteLifetime {
		return "infinite"
	}

	return d.String()
}

// TestAdvertising checks when a router sends advertisements: at its start, at each interval, after a solicitation,
// after a change, and at its end.
func TestAdvertising(t *testing.T) {
	sw := netswitch.New(1)
	heard := make(chan string, 100)
	port := sw.Attach("listener", func(frame []byte) {
		if len(frame) > 54 && frame[12] == 0x86 && frame[13] == 0xdd && frame[54] == byte(header.ICMPv6RouterAdvert) {
			heard <- describeRA(t, frame)
		}
	})
	defer port.Close()

	next := func(want string) {
		t.Helper()

		select {
		case got := <-heard:
			if !strings.Contains(got, want) {
				t.Fatalf("got %q, want one with %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no advertisement, want one with %q", want)
		}
	}
	silence := func(d time.Duration) {
		t.Helper()

		select {
		case got := <-heard:
			t.Fatalf("got %q, want silence", got)
		case <-time.After(d):
		}
	}

	gw, err := New(sw, *testConfig(t, dualStack, func(c *Config) { c.RA.Interval = time.Hour }))
	if err != nil {
		t.Fatal(err)
	}

	next("hops 64 30m0s") // the start

	solicit := ipv6Frame(testConfig(t).Hosts[0].MAC, netip.MustParseAddr("fe80::2"), netip.MustParseAddr("ff02::2"),
		[]byte{byte(header.ICMPv6RouterSolicit), 0, 0, 0, 0, 0, 0, 0})
	for range 3 {
		port.Send(solicit)
	}

	next("30m0s")

	// One answer is for all, or two if this computer was busy.
	select {
	case <-heard:
	case <-time.After(3 * raSpacing):
	}

	silence(3 * raSpacing)

	if err := gw.SetRA(RouterAdvertisement{Interval: 2 * raSpacing, Lifetime: time.Minute, Goodbye: true}); err != nil {
		t.Fatal(err)
	}

	next("hops 64 1m0s")
	next("hops 64 1m0s")

	if err := gw.SetRA(RouterAdvertisement{Off: true}); err != nil {
		t.Fatal(err)
	}

	for got := ""; !strings.Contains(got, "hops 64 0s"); got = <-heard {
	}

	silence(5 * raSpacing)

	if err := gw.SetRA(RouterAdvertisement{Lifetime: -1}); err == nil {
		t.Error("a negative lifetime was accepted")
	}

	if err := gw.SetRA(RouterAdvertisement{Goodbye: true, Interval: time.Hour}); err != nil {
		t.Fatal(err)
	}

	next("30m0s")
	gw.Close()
	next("hops 64 0s")
}

// FuzzReceive sends any frame to a gateway.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{})
	f.Add(ipv6Frame(DefaultMAC, netip.IPv6LinkLocalAllNodes(), netip.IPv6LinkLocalAllRouters(), []byte{133, 0, 0, 0, 0, 0, 0, 0}))
	f.Add(append(slices.Repeat([]byte{0xff}, 12), 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1))

	s, err := newStack(1500, DefaultMAC, ipv6.NDPConfigurations{}, netip.MustParsePrefix("10.5.0.1/24"), netip.MustParsePrefix("fd05::1/64"))
	if err != nil {
		f.Fatal(err)
	}

	solicited := make(chan struct{}, 1)
	s.solicited = solicited

	f.Cleanup(s.Close)

	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < header.EthernetMinimumSize {
			return // the switch has none
		}

		s.receive(frame)
		s.card.Drain()

		select {
		case <-solicited:
		default:
		}
	})
}

// FuzzIsSolicitation checks that no short frame causes a crash.
func FuzzIsSolicitation(f *testing.F) {
	f.Add([]byte{})
	f.Add(ipv6Frame(DefaultMAC, netip.IPv6LinkLocalAllNodes(), netip.IPv6LinkLocalAllRouters(), []byte{133, 0, 0, 0, 0, 0, 0, 0}))

	f.Fuzz(func(t *testing.T, frame []byte) {
		if isSolicitation(frame) && frame[54] != byte(header.ICMPv6RouterSolicit) {
			t.Fatalf("% x is not a solicitation", frame)
		}
	})
}
