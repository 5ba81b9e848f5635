// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/dhcpv6/nclient6"
	"github.com/miekg/dns"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/sys/dhcp"
	"github.com/seed-59268b81/talos/sys/dhcp4"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"golang.org/x/sys/unix"
)

// TestRealKernel checks the network with a real kernel: it configures itself by router advertisements and both DHCP
// protocols, reaches every service, and gets "network unreachable" from the rest of the world.
func TestRealKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	kernel, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()

	sw := netswitch.New(1)
	card := plugTap(t, sw)
	cfg := testConfig(t, leased6, onCloud("hcloud"), func(c *Config) {
		c.Hosts[0].MAC = card.HardwareAddr
		c.RA.Interval, c.RA.Goodbye = raSpacing, true // the kernel sends its solicitation before the gateway starts
	})
	gw := newGateway(t, sw, cfg)

	up := true
	if err := kernel.SetLink(uint32(card.Index), netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	slaac := SLAAC(cfg.Subnet6, card.HardwareAddr)
	router := SLAAC(linkLocal6, cfg.MAC)

	has := func(addr netip.Addr) func() bool {
		return func() bool {
			addrs, err := kernel.Addresses()

			return err == nil && slices.ContainsFunc(addrs, func(a netlink.Address) bool {
				return a.Prefix.Addr() == addr && a.Flags&unix.IFA_F_TENTATIVE == 0
			})
		}
	}
	eventually(t, "the kernel has a SLAAC address", has(slaac))

	hasRouter := func() bool {
		routes, err := kernel.Routes()

		return err == nil && slices.ContainsFunc(routes, func(r netlink.Route) bool {
			return !r.Destination.IsValid() && r.Gateway == router
		})
	}
	eventually(t, "the kernel has the default router", hasRouter)

	lease, err := (&dhcp4.Link{Name: card.Name, HardwareAddr: card.HardwareAddr}).Ask(t.Context(), dhcp.Acquire, nil, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}

	if lease.Address != netip.MustParsePrefix("10.5.0.2/24") {
		t.Errorf("got lease %+v", lease)
	}

	for _, addr := range []netip.Prefix{lease.Address, netip.MustParsePrefix("fd05::2/128")} {
		if err := kernel.AddAddress(netlink.Address{LinkIndex: uint32(card.Index), Prefix: addr}); err != nil {
			t.Fatal(err)
		}
	}

	eventually(t, "no other host has the leased address", has(netip.MustParseAddr("fd05::2")))

	if err := kernel.ReplaceRoute(netlink.Route{
		Family: unix.AF_INET, LinkIndex: uint32(card.Index), Gateway: cfg.Addr4, Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Protocol: unix.RTPROT_DHCP,
	}); err != nil {
		t.Fatal(err)
	}

	client, err := nclient6.New(card.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	reply, err := client.RapidSolicit(t.Context(), dhcpv6.WithRequestedOptions(dhcpv6.OptionNTPServer))
	if err != nil {
		t.Fatal(err)
	}

	if ia := reply.Options.OneIANA(); ia == nil || !ia.Options.OneAddress().IPv6Addr.Equal(net.ParseIP("fd05::2")) || len(reply.Options.NTPServers()) != 1 {
		t.Errorf("got %v", reply)
	}

	for _, server := range []string{"10.5.0.1:53", "[fd05::1]:53"} {
		for _, network := range []string{"udp", "tcp"} {
			answer, _, err := (&dns.Client{Net: network}).Exchange(new(dns.Msg).SetQuestion("demo-controlplane-1.", dns.TypeAAAA), server)
			if err != nil {
				t.Fatalf("DNS at %s over %s: %v", server, network, err)
			}

			if got, want := answerString(answer), "NOERROR fd05::2 "+slaac.String(); got != want {
				t.Errorf("DNS at %s over %s: got %q, want %q", server, network, got, want)
			}
		}
	}

	defer http.DefaultClient.CloseIdleConnections()

	if status, body, err := get(http.DefaultClient, "http://169.254.169.254/hetzner/v1/userdata"); status != 200 || err != nil {
		t.Errorf("metadata: got %d %q, %v", status, body, err)
	}

	for _, to := range []string{"192.0.2.1:443", "[2001:db8::1]:443"} {
		start := time.Now()

		conn, err := net.DialTimeout("tcp", to, time.Minute)
		if err == nil {
			_ = conn.Close()
		}

		if took := time.Since(start); !errors.Is(err, syscall.ENETUNREACH) && !errors.Is(err, syscall.EHOSTUNREACH) || took > 20*time.Second {
			t.Errorf("%s: got %v after %v, want network unreachable at once", to, err, took)
		}
	}

	// Forwarded ports, to both addresses.
	for _, addr := range []string{"10.5.0.2", "fd05::2", slaac.String()} {
		l, err := net.Listen("tcp", net.JoinHostPort(addr, "50000"))
		if err != nil {
			t.Fatal(err)
		}

		conn, err := gw.Dial(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(addr), 50000))
		if err != nil {
			t.Errorf("dial %s: %v", addr, err)
		} else {
			_ = conn.Close()
		}

		_ = l.Close()
	}

	gw.Close()
	eventually(t, "the router is removed", func() bool { return !hasRouter() })
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()

	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// plugTap returns a card of the test's own network namespace that is plugged into a switch.
func plugTap(t *testing.T, sw *netswitch.Switch) *net.Interface {
	t.Helper()

	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}

	request, err := unix.NewIfreq("lab0")
	if err != nil {
		t.Fatal(err)
	}

	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)

	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		t.Fatal(err)
	}

	tap := os.NewFile(uintptr(fd), "tap")
	port := sw.Attach("node", func(frame []byte) { _, _ = tap.Write(frame) })
	gone := make(chan struct{})

	go func() {
		defer close(gone)

		for buf := make([]byte, netswitch.MaxFrame); ; {
			n, err := tap.Read(buf)
			if err != nil {
				return // closed
			}

			port.Send(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = tap.Close(); <-gone; port.Close() })

	card, err := net.InterfaceByName("lab0")
	if err != nil {
		t.Fatal(err)
	}

	return card
}
