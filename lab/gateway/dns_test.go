// SPDX-License-Identifier: Apache-2.0

package gateway

import (
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
		{"the gateway", "gateway.demo.lab.internal.", dns.TypeA, true, "NOERROR 10.5.0.1"},
		{"no IPv6 address", "demo-worker-1.", dns.TypeAAAA, true, "NOERROR"},
		{"reverse", "2.0.5.10.in-addr.arpa.", dns.TypePTR, true, "NOERROR demo-controlplane-1.demo.lab.internal."},
		{"no such machine", "other.demo.lab.internal.", dns.TypeA, false, "NXDOMAIN"},
		{"no such short name", "other.", dns.TypeA, false, "NXDOMAIN"},
		{"the world, offline", "registry.k8s.io.", dns.TypeA, true, "NXDOMAIN"},
		{"the world", "registry.k8s.io.", dns.TypeA, false, ""},
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
