// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestAnswerDNS(t *testing.T) {
	tests := []struct {
		name     string
		question string
		kind     uint16
		offline  bool
		want     string // code and data; empty for a question to the world
	}{
		{"a machine", "demo-controlplane-1.", dns.TypeA, true, "NOERROR 10.5.0.2"},
		{"in the lab's zone, any case", "Demo-Worker-1.demo.lab.internal.", dns.TypeA, true, "NOERROR 10.5.0.3"},
		{"the lab's zone", "demo.lab.internal.", dns.TypeA, true, "NOERROR"},
		{"the gateway", "gateway.demo.lab.internal.", dns.TypeA, true, "NOERROR 10.5.0.1"},
		{"no IPv6 address", "demo-worker-1.", dns.TypeAAAA, true, "NOERROR"},
		{"reverse", "2.0.5.10.in-addr.arpa.", dns.TypePTR, true, "NOERROR demo-controlplane-1.demo.lab.internal."},
		{"no such machine", "other.demo.lab.internal.", dns.TypeA, false, "NXDOMAIN"},
		{"no such short name", "other.", dns.TypeA, false, "NXDOMAIN"},
		{"the world, offline", "registry.k8s.io.", dns.TypeA, true, "NXDOMAIN"},
		{"the world", "registry.k8s.io.", dns.TypeA, false, ""},
		{"a public time server, offline", "time.cloudflare.com.", dns.TypeA, true, "NOERROR 10.5.0.1"},
		{"a public time server", "time.cloudflare.com.", dns.TypeA, false, ""},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Offline = tt.offline

			got := answerString(cfg.answerDNS(new(dns.Msg).SetQuestion(tt.question, tt.kind)))
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnswerDNSWithIPv6(t *testing.T) {
	tests := []struct {
		name, question string
		kind           uint16
		edit           func(*Config)
		want           string
	}{
		{"both protocols", "demo-controlplane-1.", dns.TypeANY, leased6, "NOERROR 10.5.0.2 fd05::2 fd05::5054:ff:fe00:2"},
		{"IPv4 address", "demo-controlplane-1.", dns.TypeA, leased6, "NOERROR 10.5.0.2"},
		{"IPv6 addresses", "demo-controlplane-1.demo.lab.internal.", dns.TypeAAAA, leased6, "NOERROR fd05::2 fd05::5054:ff:fe00:2"},
		{"leased address only", "demo-controlplane-1.", dns.TypeAAAA, func(c *Config) { leased6(c); c.RA.NoAutonomous = true }, "NOERROR fd05::2"},
		{"IPv4 address on a network without", "demo-controlplane-1.", dns.TypeA, onlyIPv6, "NOERROR"},
		{"the gateway", "gateway.", dns.TypeAAAA, dualStack, "NOERROR fd05::1"},
		{"the gateway's other name", "site-2.", dns.TypeA, func(c *Config) { c.PortName = "site-2" }, "NOERROR 10.5.0.1"},
		{"reverse", "2.0.0.0.0.0.e.f.f.f.0.0.4.5.0.5.0.0.0.0.0.0.0.0.0.0.0.0.5.0.d.f.ip6.arpa.", dns.TypePTR, leased6,
			"NOERROR demo-controlplane-1.demo.lab.internal."},
		{"a host on another network", "far.", dns.TypeAAAA, func(c *Config) {
			c.Names = map[string][]netip.Addr{"far": {netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")}}
		}, "NOERROR fd06::2"},
		{"a host on two networks", "demo-worker-1.", dns.TypeA, func(c *Config) {
			c.Names = map[string][]netip.Addr{"demo-worker-1": {netip.MustParseAddr("10.6.0.3")}}
		}, "NOERROR 10.5.0.3 10.6.0.3"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t, tt.edit)
			if got := answerString(cfg.answerDNS(new(dns.Msg).SetQuestion(tt.question, tt.kind))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnswerDNSToNonsense(t *testing.T) {
	cfg := testConfig(t)

	if got, want := answerString(cfg.answerDNS(new(dns.Msg))), "FORMERR"; got != want {
		t.Errorf("no question: got %q, want %q", got, want)
	}

	update := new(dns.Msg).SetUpdate("demo.lab.internal.")
	if got, want := answerString(cfg.answerDNS(update)), "NOTIMP"; got != want {
		t.Errorf("update: got %q, want %q", got, want)
	}
}

func answerString(m *dns.Msg) string {
	if m == nil {
		return ""
	}

	words := []string{dns.RcodeToString[m.Rcode]}
	for _, rr := range m.Answer {
		words = append(words, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}

	return strings.Join(words, " ")
}

// FuzzAnswerDNS sends any bytes to the server of an offline lab, which must answer every message itself.
func FuzzAnswerDNS(f *testing.F) {
	for _, m := range []*dns.Msg{
		new(dns.Msg).SetQuestion("demo-controlplane-1.", dns.TypeANY), new(dns.Msg).SetQuestion("2.0.5.10.in-addr.arpa.", dns.TypePTR),
		new(dns.Msg).SetQuestion(".", dns.TypeNS), new(dns.Msg).SetUpdate("demo.lab.internal."), new(dns.Msg),
	} {
		packed, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}

		f.Add(packed)
	}

	f.Fuzz(func(t *testing.T, packet []byte) {
		query := new(dns.Msg)
		if query.Unpack(packet) != nil {
			return
		}

		cfg := testConfig(t, leased6)

		answer := cfg.answerDNS(query)
		if answer == nil {
			t.Fatalf("% x would be sent to the world", packet)
		}

		if _, err := answer.Pack(); err != nil || answer.Id != query.Id {
			t.Fatalf("% x: got %v, %v", packet, answer, err)
		}

		for _, b := range []DNSBehaviour{{Rcode: "SERVFAIL"}, {Truncate: true}} {
			if _, err := b.answer(query, false).Pack(); err != nil {
				t.Fatalf("% x: %+v: %v", packet, b, err)
			}
		}
	})
}
