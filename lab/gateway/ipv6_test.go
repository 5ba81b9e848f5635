// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/beevik/ntp"
	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

// dualStack adds IPv6 to the test's network.
func dualStack(c *Config) { c.Subnet6 = netip.MustParsePrefix("fd05::/64") }

// onlyIPv6 replaces IPv4 by IPv6.
func onlyIPv6(c *Config) {
	dualStack(c)

	c.Subnet4, c.Addr4 = netip.Prefix{}, netip.Addr{}
	for i := range c.Hosts {
		c.Hosts[i].Addr4 = netip.Addr{}
	}
}

// waitFor waits until the machine has an address.
func (m *machine) waitFor(t *testing.T, addr netip.Addr) {
	t.Helper()

	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var has []netip.Addr

		for _, a := range m.AllAddresses()[nic] {
			ip, _ := netip.AddrFromSlice(a.AddressWithPrefix.Address.AsSlice())
			if ip == addr {
				return
			}

			has = append(has, ip)
		}

		if time.Now().After(deadline) {
			t.Fatalf("the machine has no address %v, only %v", addr, has)
		}
	}
}

func TestServicesOverIPv6(t *testing.T) {
	for name, edit := range map[string]func(*Config){"dual stack": dualStack, "IPv6 only": onlyIPv6} {
		t.Run(name, func(t *testing.T) {
			_, _, m := newLab(t, edit)
			m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))

			stream, err := gonet.DialContextTCP(t.Context(), m.Stack, endpoint(netip.MustParseAddr("fd05::1"), dnsPort), ipv6.ProtocolNumber)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()

			for name, conn := range map[string]*dns.Conn{
				"udp": {Conn: packetConn{m.dialUDP(t, "[fd05::1]:53")}},
				"tcp": {Conn: stream},
			} {
				answer, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion("demo-worker-1.", dns.TypeAAAA), conn)
				if err != nil {
					t.Fatalf("DNS over %s: %v", name, err)
				}

				if got, want := answerString(answer), "NOERROR fd05::5054:ff:fe00:3"; got != want {
					t.Errorf("DNS over %s: got %q, want %q", name, got, want)
				}
			}

			answer, err := ntp.QueryWithOptions("fd05::1", ntp.QueryOptions{
				Dialer: func(_, _ string) (net.Conn, error) { return m.dialUDP(t, "[fd05::1]:123"), nil },
			})
			if err != nil {
				t.Fatal(err)
			}

			if err := answer.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSLAAC(t *testing.T) {
	subnet := netip.MustParsePrefix("2001:db8:1:2::/64")
	mac := net.HardwareAddr{0x52, 0x54, 0, 0x12, 0x34, 0x56}

	got := SLAAC(subnet, mac)
	if want := netip.MustParseAddr("2001:db8:1:2:5054:ff:fe12:3456"); got != want {
		t.Errorf("got %v, want %v", got, want)
	}

	if d := cmp.Diff(mac, macOf(got)); d != "" {
		t.Errorf("hardware address (-want +got):\n%s", d)
	}

	if mac := macOf(netip.MustParseAddr("fe80::1")); mac != nil {
		t.Errorf("got hardware address %v for an address that has none", mac)
	}
}

func TestDefaultSubnet6(t *testing.T) {
	one, again, other := DefaultSubnet6("demo/lan"), DefaultSubnet6("demo/lan"), DefaultSubnet6("demo/site-2")
	if one != again || one == other {
		t.Errorf("got %v and %v for one network, %v for another", one, again, other)
	}

	if !one.Addr().IsPrivate() || one.Bits() != 64 || one.Masked() != one {
		t.Errorf("got %v, want a unique local /64", one)
	}
}

// TestTwoGateways checks that networks in one process are independent, and that gateways can share a switch.
func TestTwoGateways(t *testing.T) {
	sw, _, m := newLab(t, dualStack)
	m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))

	newGateway(t, netswitch.New(2), testConfig(t, dualStack))

	second := testConfig(t, func(c *Config) {
		c.PortName = "gateway-2"
		c.MAC = net.HardwareAddr{0x52, 0x54, 0, 0, 1, 1}
		c.Addr4 = netip.MustParseAddr("10.5.0.250")
		c.Services = []Service{ServiceDNS}
	})
	newGateway(t, sw, second)

	for _, server := range []string{"10.5.0.1:53", "10.5.0.250:53"} {
		conn := &dns.Conn{Conn: packetConn{m.dialUDP(t, server)}}

		answer, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion("demo-worker-1.", dns.TypeA), conn)
		if err != nil {
			t.Fatalf("%s: %v", server, err)
		}

		if got, want := answerString(answer), "NOERROR 10.5.0.3"; got != want {
			t.Errorf("%s: got %q, want %q", server, got, want)
		}
	}

	if got := sw.Stats(); len(got) != 3 {
		t.Errorf("got ports %v, want gateway, gateway-2 and node", got)
	}
}

// TestInsideGoesThroughTheRouter checks that the gateway of a network reaches the lab's other networks through its
// configured router.
func TestInsideGoesThroughTheRouter(t *testing.T) {
	sw := netswitch.New(1)
	cfg := testConfig(t, dualStack, func(c *Config) {
		c.Router4, c.Router6 = c.Hosts[0].Addr4, SLAAC(linkLocal6, c.Hosts[0].MAC)
		c.Inside = []netip.Prefix{netip.MustParsePrefix("10.6.0.0/24"), netip.MustParsePrefix("fd06::/64")}
	})
	gw := newGateway(t, sw, cfg)
	router := newMachine(t, sw, cfg)

	for _, addr := range []string{"10.6.0.7", "fd06::7"} {
		far := netip.MustParseAddr(addr)
		if err := router.addAddress(netip.PrefixFrom(far, far.BitLen())); err != nil {
			t.Fatal(err)
		}

		l, err := gonet.ListenTCP(router.Stack, endpoint(far, 80), protocolOf(far))
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = l.Close() })

		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()

		conn, err := gw.Dial(ctx, netip.AddrPortFrom(far, 80))
		if err != nil {
			t.Fatal(err)
		}

		_ = conn.Close()
	}
}

// TestDelegatedPrefixIsRouted checks that the gateway routes a host's delegated prefix to that host.
func TestDelegatedPrefixIsRouted(t *testing.T) {
	_, gw, m := newLab(t, leased6)
	behind := netip.MustParseAddr("fd05:0:0:101::7")

	if err := m.addAddress(netip.PrefixFrom(behind, 128)); err != nil {
		t.Fatal(err)
	}

	l, err := gonet.ListenTCP(m.Stack, endpoint(behind, 80), ipv6.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	conn, err := gw.Dial(ctx, netip.AddrPortFrom(behind, 80))
	if err != nil {
		t.Fatal(err)
	}

	_ = conn.Close()
}
