// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/beevik/ntp"
	"github.com/miekg/dns"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

func itoa(n int) string { return strconv.Itoa(n) }

func ips(list []net.IP) string { return fmt.Sprint(list) }

// machine is a host on the lab's switch, with a stack in this process, whose default router is the gateway.
type machine struct{ *netStack }

// newLab returns a switch with a gateway and the configuration's first machine.
func newLab(t *testing.T, edits ...func(*Config)) (*netswitch.Switch, *Gateway, *machine) {
	sw := netswitch.New(1)
	cfg := testConfig(t, edits...)
	gw := newGateway(t, sw, cfg)

	return sw, gw, newMachine(t, sw, cfg)
}

func newGateway(t *testing.T, sw *netswitch.Switch, cfg *Config) *Gateway {
	gw, err := New(sw, *cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(gw.Close)

	return gw
}

// newMachine returns the configuration's first machine. It has its IPv4 address, and gives itself an IPv6 address.
func newMachine(t *testing.T, sw *netswitch.Switch, cfg *Config) *machine {
	host := cfg.Hosts[0]

	var addrs []netip.Prefix
	if cfg.Subnet4.IsValid() {
		addrs = append(addrs, netip.PrefixFrom(host.Addr4, cfg.Subnet4.Bits()))
	}

	s, err := newStack(1500, host.MAC, ipv6.NDPConfigurations{
		MaxRtrSolicitations: 3, RtrSolicitationInterval: time.Second,
		HandleRAs: ipv6.HandlingRAsEnabledWhenForwardingDisabled, AutoGenGlobalAddresses: true,
	}, addrs...)
	if err != nil {
		t.Fatal(err)
	}

	var routes []route
	if cfg.Subnet4.IsValid() {
		routes = append(routes, route{netip.MustParsePrefix("0.0.0.0/0"), cfg.Addr4})
	}

	if cfg.Subnet6.IsValid() {
		routes = append(routes, route{to: cfg.Subnet6}, route{netip.MustParsePrefix("::/0"), cfg.Addr6})
	}

	s.route(routes)

	ctx, stop := context.WithCancel(context.Background())
	gone := make(chan struct{})
	port := s.attach(sw, "node")

	go func() {
		defer close(gone)
		defer port.Close()

		s.send(ctx, port)
	}()
	t.Cleanup(func() { stop(); <-gone; s.Close() })

	return &machine{s}
}

func (m *machine) dialUDP(t *testing.T, to string) net.Conn {
	addr := netip.MustParseAddrPort(to)
	remote := endpoint(addr.Addr(), addr.Port())

	conn, err := gonet.DialUDP(m.Stack, nil, &remote, protocolOf(addr.Addr()))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	return conn
}

func TestDNSOverTheSwitch(t *testing.T) {
	_, _, m := newLab(t)

	tcpConn, err := gonet.DialContextTCP(t.Context(), m.Stack, endpoint(netip.MustParseAddr("10.5.0.1"), 53), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer tcpConn.Close()

	for name, conn := range map[string]*dns.Conn{
		"udp": {Conn: packetConn{m.dialUDP(t, "10.5.0.1:53")}},
		"tcp": {Conn: tcpConn},
	} {
		answer, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion("demo-worker-1.", dns.TypeA), conn)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if got, want := answerString(answer), "NOERROR 10.5.0.3"; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// packetConn shows the DNS library that a connection keeps message boundaries.
type packetConn struct{ net.Conn }

func (c packetConn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := c.Read(b)

	return n, c.RemoteAddr(), err
}

func (c packetConn) WriteTo(b []byte, _ net.Addr) (int, error) { return c.Write(b) }

func TestNTPOverTheSwitch(t *testing.T) {
	_, _, m := newLab(t)

	answer, err := ntp.QueryWithOptions("10.5.0.1", ntp.QueryOptions{
		Dialer: func(_, _ string) (net.Conn, error) { return m.dialUDP(t, "10.5.0.1:123"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}

	if err := answer.Validate(); err != nil {
		t.Error(err)
	}

	if answer.ClockOffset.Abs() > 100*time.Millisecond+answer.RTT/2 { // the round trip may be on one side only
		t.Errorf("got offset %v from this computer's own clock", answer.ClockOffset)
	}
}

func FuzzAnswerNTP(f *testing.F) {
	f.Add(append([]byte{4<<3 | 3}, make([]byte, 47)...))
	f.Add([]byte{0x1b})

	f.Fuzz(func(t *testing.T, request []byte) {
		now := time.Date(2026, 11, 21, 12, 0, 0, 5e8, time.UTC)

		reply := answerNTP(request, NTPBehaviour{}, now, func() time.Time { return now })
		if reply == nil {
			return
		}

		if len(request) < ntpLen || len(reply) != ntpLen || request[0]&7 != ntpClient {
			t.Fatalf("got a reply of %d bytes to % x", len(reply), request)
		}

		if !bytes.Equal(reply[24:32], request[40:48]) {
			t.Fatal("the reply does not carry the client's transmit time")
		}

		if want := []byte{0xee, 0xac, 0x06, 0x40, 0x80, 0, 0, 0}; !bytes.Equal(reply[40:], want) {
			t.Fatalf("got time % x, want % x", reply[40:], want)
		}
	})
}

func TestForward(t *testing.T) {
	for name, tt := range map[string]struct {
		edit     func(*Config)
		to, from string
	}{
		"IPv4":      {func(*Config) {}, "10.5.0.2", "10.5.0.1"},
		"IPv6":      {dualStack, "fd05::5054:ff:fe00:2", "fd05::1"},
		"IPv6 only": {onlyIPv6, "fd05::5054:ff:fe00:2", "fd05::1"},
	} {
		t.Run(name, func(t *testing.T) {
			sw, gw, m := newLab(t, tt.edit)
			to := netip.MustParseAddr(tt.to)
			m.waitFor(t, to)
			testForward(t, sw, gw, m, to, tt.from)
		})
	}
}

// testForward checks forwarding to a machine's address. Connections must come from the gateway's.
func testForward(t *testing.T, sw *netswitch.Switch, gw *Gateway, m *machine, to netip.Addr, from string) {
	service, err := gonet.ListenTCP(m.Stack, endpoint(netip.Addr{}, 50000), protocolOf(to))
	if err != nil {
		t.Fatal(err)
	}

	go func() {
		for {
			conn, err := service.Accept()
			if err != nil {
				return
			}

			go func() { // answer once the client has sent all
				body, _ := io.ReadAll(conn)
				_, _ = fmt.Fprintf(conn, "%d bytes from %v", len(body), conn.RemoteAddr().(*net.TCPAddr).IP)
				_ = conn.Close()
			}()
		}
	}()
	t.Cleanup(func() { _ = service.Close() })

	forward := func(port uint16) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}

		gw.Forward(l, netip.AddrPortFrom(to, port))

		return l.Addr().String()
	}
	exchange := func(addr string, body []byte) (string, error) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return "", err
		}
		defer conn.Close()

		if _, err := conn.Write(body); err != nil {
			return "", err
		}

		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return "", err
		}

		answer, err := io.ReadAll(conn)

		return string(answer), err
	}

	open := forward(50000)

	for _, size := range []int{0, 5, 3 << 20} {
		got, err := exchange(open, make([]byte, size))
		if want := fmt.Sprintf("%d bytes from %s", size, from); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}

	sw.SetLink("node", netswitch.Link{In: netswitch.Impairment{Loss: 0.02, Delay: time.Millisecond}})

	if got, err := exchange(open, make([]byte, 1<<20)); got != "1048576 bytes from "+from || err != nil {
		t.Errorf("over a bad link: got %q, %v", got, err)
	}

	sw.Heal()

	if got, err := exchange(forward(6443), nil); err == nil {
		t.Errorf("a closed port answered %q, want a reset connection", got)
	}
}

// TestListen checks that a machine reaches a port of the gateway, also of an offline one.
func TestListen(t *testing.T) {
	for name, edit := range map[string]func(*Config){"IPv4": func(*Config) {}, "IPv6 only": onlyIPv6} {
		t.Run(name, func(t *testing.T) {
			_, gw, m := newLab(t, edit, func(c *Config) { c.Offline = true })

			listeners, err := gw.Listen(6443)
			if err != nil || len(listeners) == 0 {
				t.Fatalf("got %d listeners, %v", len(listeners), err)
			}

			for _, l := range listeners {
				at := netip.MustParseAddrPort(l.Addr().String())
				if at.Addr().Is6() {
					m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))
				}

				conn, err := gonet.DialTCP(m.Stack, endpoint(at.Addr(), at.Port()), protocolOf(at.Addr()))
				if err != nil {
					t.Fatal(err)
				}

				near, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}

				_, _ = near.Write([]byte("hello"))
				_ = near.Close()

				if got, err := io.ReadAll(conn); string(got) != "hello" {
					t.Errorf("%s: got %q, %v", at, got, err)
				}

				_ = conn.Close()
				_ = l.Close()
			}
		})
	}
}

// shortOfFiles is a listener whose first connections cannot be accepted.
type shortOfFiles struct {
	net.Listener
	failures atomic.Int32
}

func (l *shortOfFiles) Accept() (net.Conn, error) {
	if l.failures.Add(1) <= 2 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}

	return l.Listener.Accept()
}

// TestForwardOutlivesWantOfFiles checks that a port is forwarded again when the process can open files again.
func TestForwardOutlivesWantOfFiles(t *testing.T) {
	_, gw, m := newLab(t)

	server, err := gonet.ListenTCP(m.Stack, endpoint(netip.MustParseAddr("10.5.0.2"), 50000), ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	gw.Forward(&shortOfFiles{Listener: l}, netip.MustParseAddrPort("10.5.0.2:50000"))

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	defer time.AfterFunc(time.Minute, func() { _ = server.Close() }).Stop()

	arrived, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}

	_ = arrived.Close()
}

// TestOfflineRefusesAtOnce checks that a client in an offline lab does not wait for the world.
func TestOfflineRefusesAtOnce(t *testing.T) {
	_, _, m := newLab(t, dualStack)
	m.waitFor(t, netip.MustParseAddr("fd05::5054:ff:fe00:2"))

	for _, addr := range []string{"192.0.2.1", "203.0.113.7", "10.5.0.1", "2001:db8::1", "fd06::1", "fd00:ec2::254", "fd05::1"} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		conn, err := gonet.DialContextTCP(ctx, m.Stack, endpoint(netip.MustParseAddr(addr), 443), protocolOf(netip.MustParseAddr(addr)))

		cancel()

		if err == nil {
			t.Errorf("%s: connected to %v", addr, conn.RemoteAddr())
		}

		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: refused after %v (%v), want at once", addr, took, err)
		}
	}
}
