// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beevik/ntp"
	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/miekg/dns"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

func TestDHCPBehaviour(t *testing.T) {
	addr := netip.MustParseAddr
	router := func(c *Config) { c.Router4 = addr("10.5.0.254") }

	const lease = "10.5.0.2/24 router [10.5.0.1] dns [10.5.0.1] ntp [10.5.0.1] name demo-controlplane-1 mtu 1500 lease 1h0m0s"

	replace := func(old, new string) string { return strings.Replace(lease, old, new, 1) }

	tests := []struct {
		name string
		edit func(*Config)
		b    DHCPBehaviour
		acks int
		kind dhcpv4.MessageType
		id   string // of the server, in the request
		want string // with the server's identifier
	}{
		{"healthy", nil, DHCPBehaviour{}, 0, dhcpv4.MessageTypeDiscover, "", "10.5.0.1 OFFER " + lease},
		{"refuses", nil, DHCPBehaviour{RefuseRequests: true}, 0, dhcpv4.MessageTypeRequest, "", "10.5.0.1 NAK"},
		{"offers what it will refuse", nil, DHCPBehaviour{RefuseRequests: true}, 0, dhcpv4.MessageTypeDiscover, "", "10.5.0.1 OFFER " + lease},
		{"no router", nil, DHCPBehaviour{NoRouter: true}, 0, dhcpv4.MessageTypeDiscover, "", "10.5.0.1 OFFER " + replace("[10.5.0.1]", "[]")},
		{"no router behind a router", router, DHCPBehaviour{NoRouter: true}, 0, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER " + replace("[10.5.0.1]", "[]")},
		{"behind a router", router, DHCPBehaviour{}, 0, dhcpv4.MessageTypeDiscover, "", "10.5.0.1 OFFER " + replace("[10.5.0.1]", "[10.5.0.254]")},
		{"wrong router", router, DHCPBehaviour{Router: addr("10.5.0.66")}, 0, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER " + replace("[10.5.0.1]", "[10.5.0.66]")},
		{"wrong identifier", nil, DHCPBehaviour{ServerID: addr("192.0.2.9")}, 0, dhcpv4.MessageTypeRequest, "192.0.2.9", "192.0.2.9 ACK " + lease},
		{"address in use", nil, DHCPBehaviour{Addr: addr("10.5.0.3")}, 0, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER " + replace("10.5.0.2", "10.5.0.3")},
		{"tiny lease", nil, DHCPBehaviour{LeaseTime: time.Second}, 0, dhcpv4.MessageTypeDiscover, "", "10.5.0.1 OFFER " + replace("1h0m0s", "1s")},
		{"first name", nil, DHCPBehaviour{HostNames: []string{"a", "b"}}, 0, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER " + replace("demo-controlplane-1", "a")},
		{"fourth name", nil, DHCPBehaviour{HostNames: []string{"a", "b"}}, 3, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER " + replace("demo-controlplane-1", "b")},
		{"DHCP alone", func(c *Config) { c.Services = []Service{ServiceDHCP} }, DHCPBehaviour{}, 0, dhcpv4.MessageTypeDiscover, "",
			"10.5.0.1 OFFER 10.5.0.2/24 router [10.5.0.1] dns [] ntp [] name demo-controlplane-1 mtu 1500 lease 1h0m0s"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t, func(c *Config) {
				if tt.edit != nil {
					tt.edit(c)
				}
			})

			request, err := dhcpv4.New(dhcpv4.WithHwAddr(cfg.Hosts[0].MAC), dhcpv4.WithMessageType(tt.kind))
			if err != nil {
				t.Fatal(err)
			}

			if tt.id != "" {
				request.UpdateOption(dhcpv4.OptServerIdentifier(net.ParseIP(tt.id)))
			}

			reply, err := cfg.answerDHCP(request, tt.b, tt.acks)
			if err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(tt.want, reply.ServerIdentifier().String()+" "+leaseString(reply)); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}
		})
	}
}

// TestSecondDHCPServer checks that a machine gets the answers of two servers on its network, and that a server changes
// while it runs.
func TestSecondDHCPServer(t *testing.T) {
	sw, gw, m := newLab(t)
	rogue := newGateway(t, sw, testConfig(t, func(c *Config) {
		c.PortName, c.MAC = "rogue", net.HardwareAddr{0x52, 0x54, 0, 0, 9, 9}
		c.Subnet4, c.Addr4 = netip.MustParsePrefix("10.66.0.0/16"), netip.MustParseAddr("10.66.0.1")
		c.Hosts = c.Hosts[:1]
		c.Hosts[0].Addr4 = netip.MustParseAddr("10.66.0.2")
		c.Services = []Service{ServiceDHCP}
		c.DHCP = DHCPBehaviour{HostNames: []string{"one", "two"}}
	}))

	conn, err := (&Gateway{stack: m.Stack}).listenAny(ipv4.ProtocolNumber, dhcpv4.ClientPort)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	mac := testConfig(t).Hosts[0].MAC
	ask := func(kind dhcpv4.MessageType) {
		t.Helper()

		request, err := dhcpv4.New(dhcpv4.WithHwAddr(mac), dhcpv4.WithMessageType(kind), dhcpv4.WithBroadcast(true))
		if err != nil {
			t.Fatal(err)
		}

		if _, err := conn.WriteTo(request.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: dhcpv4.ServerPort}); err != nil {
			t.Fatal(err)
		}
	}
	answers := func(n int, wait time.Duration) map[string]string {
		t.Helper()

		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			t.Fatal(err)
		}

		got := make(map[string]string)

		for buf := make([]byte, 1500); len(got) < n; {
			size, _, err := conn.ReadFrom(buf)
			if err != nil {
				break // timed out
			}

			reply, err := dhcpv4.FromBytes(buf[:size])
			if err != nil {
				t.Fatal(err)
			}

			got[reply.ServerIdentifier().String()] = reply.MessageType().String() + " " + reply.YourIPAddr.String() + " " + reply.HostName()
		}

		return got
	}
	check := func(what string, got, want map[string]string) {
		t.Helper()

		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}

	const healthy = " 10.5.0.2 demo-controlplane-1"

	ask(dhcpv4.MessageTypeDiscover)
	check("two servers", answers(2, 30*time.Second), map[string]string{"10.5.0.1": "OFFER" + healthy, "10.66.0.1": "OFFER 10.66.0.2 one"})

	for _, name := range []string{"one", "two", "one"} {
		ask(dhcpv4.MessageTypeRequest)
		check("names in turn", answers(2, 30*time.Second), map[string]string{"10.5.0.1": "ACK" + healthy, "10.66.0.1": "ACK 10.66.0.2 " + name})
	}

	if err := rogue.SetDHCP(DHCPBehaviour{RefuseRequests: true, StopAfter: 1}); err != nil {
		t.Fatal(err)
	}

	if err := gw.SetDHCP(DHCPBehaviour{Silent: true}); err != nil {
		t.Fatal(err)
	}

	ask(dhcpv4.MessageTypeRequest)
	check("refusal", answers(1, 30*time.Second), map[string]string{"10.66.0.1": "NAK 0.0.0.0 "})
	check("a silent server", answers(1, 300*time.Millisecond), map[string]string{})
	ask(dhcpv4.MessageTypeRequest)
	check("after the last answer", answers(1, 300*time.Millisecond), map[string]string{})

	if err := gw.SetDHCP(DHCPBehaviour{Delay: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	start := time.Now()

	ask(dhcpv4.MessageTypeDiscover)
	check("slow", answers(1, 30*time.Second), map[string]string{"10.5.0.1": "OFFER" + healthy})

	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("the slow server answered after %v", took)
	}

	if err := gw.SetDHCP(DHCPBehaviour{StopAfter: -1}); err == nil {
		t.Error("a negative number of answers was accepted")
	}
}

func TestDNSBehaviour(t *testing.T) {
	_, gw, m := newLab(t)
	ask := func(wait time.Duration) (string, error) {
		conn := &dns.Conn{Conn: packetConn{m.dialUDP(t, "10.5.0.1:53")}}

		answer, _, err := (&dns.Client{Timeout: wait}).ExchangeWithConn(new(dns.Msg).SetQuestion("demo-worker-1.", dns.TypeA), conn)
		if err != nil {
			return "", err
		}

		text := answerString(answer)
		if answer.Truncated {
			text += " TC"
		}

		return text, nil
	}

	for _, tt := range []struct {
		b    DNSBehaviour
		want string // empty for none within half a second
	}{
		{DNSBehaviour{}, "NOERROR 10.5.0.3"},
		{DNSBehaviour{Silent: true}, ""},
		{DNSBehaviour{Rcode: "SERVFAIL"}, "SERVFAIL"},
		{DNSBehaviour{Rcode: "REFUSED"}, "REFUSED"},
		{DNSBehaviour{Truncate: true}, "NOERROR TC"},
		{DNSBehaviour{Delay: time.Minute}, ""},
		{DNSBehaviour{Delay: 50 * time.Millisecond}, "NOERROR 10.5.0.3"},
	} {
		if err := gw.SetDNS(tt.b); err != nil {
			t.Fatal(err)
		}

		wait := 30 * time.Second
		if tt.want == "" {
			wait = 500 * time.Millisecond
		}

		if got, err := ask(wait); got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: got %q, %v, want %q", tt.b, got, err, tt.want)
		}
	}
}

// TestNTPBehaviour checks a client's view of a server's answers.
func TestNTPBehaviour(t *testing.T) {
	_, gw, m := newLab(t)

	for _, tt := range []struct {
		name   string
		b      NTPBehaviour
		valid  string // in the client's error, empty for none
		offset time.Duration
		check  func(*ntp.Response) bool
	}{
		{"healthy", NTPBehaviour{}, "", 0, func(r *ntp.Response) bool { return r.Stratum == 1 && r.Leap == ntp.LeapNoWarning }},
		{"fast", NTPBehaviour{Offset: 90 * time.Minute}, "", 90 * time.Minute, nil},
		{"slow", NTPBehaviour{Offset: -10 * 365 * 24 * time.Hour}, "", -10 * 365 * 24 * time.Hour, nil},
		{"denies", NTPBehaviour{Kiss: "DENY"}, "kiss of death", 0, func(r *ntp.Response) bool { return r.KissCode == "DENY" }},
		{"limits", NTPBehaviour{Kiss: "RATE"}, "kiss of death", 0, func(r *ntp.Response) bool { return r.KissCode == "RATE" }},
		{"unsynchronized", NTPBehaviour{Leap: 3, Stratum: 16}, "invalid stratum", 0, func(r *ntp.Response) bool { return r.Leap == ntp.LeapNotInSync }},
		{"leap second", NTPBehaviour{Leap: 1}, "", 0, func(r *ntp.Response) bool { return r.Leap == ntp.LeapAddSecond }},
		{"stratum 3", NTPBehaviour{Stratum: 3}, "", 0, func(r *ntp.Response) bool { return r.ReferenceString() == "192.0.2.123" }},
		{"silent", NTPBehaviour{Silent: true}, "timeout", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := gw.SetNTP(tt.b); err != nil {
				t.Fatal(err)
			}

			wait := 30 * time.Second
			if tt.b.Silent {
				wait = 500 * time.Millisecond
			}

			answer, err := ntp.QueryWithOptions("10.5.0.1", ntp.QueryOptions{
				Timeout: wait,
				Dialer:  func(_, _ string) (net.Conn, error) { return m.dialUDP(t, "10.5.0.1:123"), nil },
			})
			if err == nil {
				err = answer.Validate()
			}

			if (err != nil) != (tt.valid != "") || err != nil && !strings.Contains(err.Error(), tt.valid) {
				t.Fatalf("got error %v, want %q", err, tt.valid)
			}

			if err == nil && (answer.ClockOffset-tt.offset).Abs() > 100*time.Millisecond+answer.RTT/2 {
				t.Errorf("got offset %v, want %v", answer.ClockOffset, tt.offset)
			}

			if tt.check != nil && !tt.check(answer) {
				t.Errorf("got %+v", answer)
			}
		})
	}
}

func TestNTPDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s setting[NTPBehaviour]

		s.set(NTPBehaviour{Offset: time.Second, Drift: 0.01})
		time.Sleep(100 * time.Second)

		now := time.Now()
		if got, want := s.get().value.clock(now, s.get().from).Sub(now), 2*time.Second; got != want {
			t.Errorf("got %v ahead after 100 s, want %v", got, want)
		}
	})
}

// TestBehavioursAsJSON checks that a healthy service is an empty object, and that a behaviour is the same after
// encoding and decoding.
func TestBehavioursAsJSON(t *testing.T) {
	addr := netip.MustParseAddr

	roundTrip(t, DHCPBehaviour{}, DHCPBehaviour{Addr: addr("10.5.0.3"), HostNames: []string{"a"}, Delay: time.Second})
	roundTrip(t, DHCPv6Behaviour{}, DHCPv6Behaviour{Stateless: true, LeaseTime: time.Minute})
	roundTrip(t, DNSBehaviour{}, DNSBehaviour{Rcode: "SERVFAIL"})
	roundTrip(t, NTPBehaviour{}, NTPBehaviour{Offset: -time.Hour, Drift: 1e-4, Stratum: 16})
	roundTrip(t, MetadataBehaviour{}, MetadataBehaviour{Status: 500})
	roundTrip(t, RouterAdvertisement{}, RouterAdvertisement{
		From: AnnouncedRouter{Addr: addr("fe80::9"), MAC: "52:54:00:00:09:09"}, DNS: []netip.Addr{addr("fd05::1")}, Managed: true,
	})
}

func roundTrip[T any](t *testing.T, healthy, in T) {
	t.Helper()

	if b, err := json.Marshal(healthy); string(b) != "{}" || err != nil {
		t.Errorf("%T: got %s, %v, want {}", healthy, b, err)
	}

	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}

	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(in, out, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
		t.Errorf("%T (-in +out):\n%s", in, d)
	}
}

// TestDelayedRequestsAreBounded floods a slow service.
func TestDelayedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		g := &Gateway{done: ctx, stop: stop}

		answered := make(chan bool, 2*delayedLimit)
		for range delayedLimit {
			go func() { answered <- g.pause(time.Second) }()
		}
		synctest.Wait()

		if g.pause(time.Second) {
			t.Error("a request over the gateway's limit was answered")
		}

		time.Sleep(2 * time.Second)

		for range delayedLimit {
			if !<-answered {
				t.Fatal("a request within the gateway's limit was not answered")
			}
		}

		if !g.pause(time.Second) {
			t.Error("a request after the flood was not answered")
		}

		stop()
	})
}
