// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	"github.com/seed-59268b81/talos/sys/netlink"
	"github.com/seed-59268b81/talos/sys/nstest"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// The addresses of TestOffline's world, on the loopback of its own network namespace, and the port on which it listens.
var worldAddrs = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}

const worldPort = 4453

// TestOffline checks with the kernel's own counters that nothing leaves the lab through an offline gateway. The same
// packets through an online gateway show that the world would have received them.
func TestOffline(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	heard := startWorld(t)

	for _, tt := range []struct {
		name    string
		offline bool
		want    []string
	}{
		{"offline", true, nil},
		{"online", false, []string{
			"tcp 192.0.2.1", "tcp 2001:db8::1", "udp 192.0.2.1 datagram", "udp 192.0.2.1 question", "udp 2001:db8::1 datagram",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, m := newLab(t, dualStack, func(c *Config) {
				c.Offline, c.Resolvers = tt.offline, []string{netip.AddrPortFrom(worldAddrs[0], worldPort).String()}
			})
			m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))

			before := kernelPackets(t)

			for _, addr := range worldAddrs {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				conn, err := gonet.DialContextTCP(ctx, m.Stack, endpoint(addr, worldPort), protocolOf(addr))

				cancel()

				if err == nil {
					_ = conn.Close()
				}

				if (err != nil) != tt.offline {
					t.Errorf("connect to %v: got %v", addr, err)
				}

				if _, err := m.dialUDP(t, netip.AddrPortFrom(addr, worldPort).String()).Write([]byte("datagram")); err != nil {
					t.Logf("send to %v: %v", addr, err)
				}
			}

			question := new(dns.Msg).SetQuestion("registry.example.", dns.TypeA)
			client := &dns.Client{Timeout: 30 * time.Second}

			answer, _, err := client.ExchangeWithConn(question, &dns.Conn{Conn: packetConn{m.dialUDP(t, "10.5.0.1:53")}})
			if err != nil {
				t.Fatal(err)
			}

			if want := map[bool]string{true: "NXDOMAIN", false: "REFUSED"}[tt.offline]; answerString(answer) != want {
				t.Errorf("got answer %q, want %q", answerString(answer), want)
			}

			// Wait for packets in transit.
			for deadline := time.Now().Add(30 * time.Second); len(heard()) < len(tt.want) && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}

			if tt.offline {
				time.Sleep(300 * time.Millisecond)

				if sent := kernelPackets(t) - before; sent != 0 {
					t.Errorf("the kernel sent %d packets", sent)
				}
			}

			if d := cmp.Diff(tt.want, heard()); d != "" {
				t.Errorf("the world received (-want +got):\n%s", d)
			}
		})
	}
}

// startWorld adds the world's addresses to this namespace's loopback, and returns a function for the received texts, in
// order.
func startWorld(t *testing.T) func() []string {
	t.Helper()

	kernel, err := netlink.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()

	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}

	up := true
	if err := kernel.SetLink(uint32(lo.Index), netlink.LinkChange{Up: &up}); err != nil {
		t.Fatal(err)
	}

	var (
		mu    sync.Mutex
		heard []string
	)

	hear := func(what string) {
		mu.Lock()
		defer mu.Unlock()

		if !slices.Contains(heard, what) {
			heard = append(heard, what)
		}
	}

	for _, addr := range worldAddrs {
		if err := kernel.AddAddress(netlink.Address{LinkIndex: uint32(lo.Index), Prefix: netip.PrefixFrom(addr, addr.BitLen())}); err != nil {
			t.Fatal(err)
		}

		at := netip.AddrPortFrom(addr, worldPort)

		var l net.Listener

		eventually(t, "the loopback has "+addr.String(), func() bool { // a new IPv6 address is tentative
			l, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))

			return err == nil
		})

		packets, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = errors.Join(l.Close(), packets.Close()) })

		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return // closed
				}

				hear("tcp " + addr.String())

				_ = conn.Close()
			}
		}()
		go func() {
			for buf := make([]byte, 1500); ; {
				n, from, err := packets.ReadFrom(buf)
				if err != nil {
					return // closed
				}

				if question := new(dns.Msg); question.Unpack(buf[:n]) == nil {
					hear("udp " + addr.String() + " question")

					answer, _ := new(dns.Msg).SetRcode(question, dns.RcodeRefused).Pack()
					_, _ = packets.WriteTo(answer, from)
				} else {
					hear("udp " + addr.String() + " " + string(buf[:n]))
				}
			}
		}()
	}

	return func() []string {
		mu.Lock()
		defer mu.Unlock()

		return slices.Sorted(slices.Values(heard))
	}
}

// kernelPackets returns how many IP packets this namespace's kernel has sent.
func kernelPackets(t *testing.T) (sent int) {
	t.Helper()

	count := func(text string) {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}

		sent += n
	}

	v4, err := os.ReadFile("/proc/net/snmp")
	if err != nil {
		t.Fatal(err)
	}

	names, values, _ := strings.Cut(string(v4), "\n") // of IP
	column := slices.Index(strings.Fields(names), "OutRequests")
	count(strings.Fields(values)[column])

	v6, err := os.ReadFile("/proc/net/snmp6")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, found := strings.Cut(string(v6), "Ip6OutRequests")
	if !found {
		t.Fatal("the kernel does not count IPv6")
	}

	count(strings.Fields(rest)[0])

	return sent
}
