// SPDX-License-Identifier: Apache-2.0

package ingress_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/network/ingress"
	"github.com/seed-59268b81/talos/controllers/network/packetfilter"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

const (
	main  = "machine: {type: worker}\ncluster: {network: {podSubnets: [10.244.0.0/16], serviceSubnets: [10.96.0.0/12]}}\n"
	block = "---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n"
	apid  = "---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: apid\nportSelector: {protocol: tcp, ports: [50000-50001]}\ningress: [{subnet: 192.0.2.0/24, except: 192.0.2.7/32}]\n"
)

func ping(protocol, subnet string) string {
	return "---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: " + protocol + "\nportSelector: {protocol: " + protocol + "}\ningress: [{subnet: \"" + subnet + "\"}]\n"
}

var self = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}

func chains(t *testing.T, text string) map[string]network.NfTablesChainSpec {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return ingress.Chains(view.Of(cfg), self)
}

// TestChains shows the rules of the kernel.
func TestChains(t *testing.T) {
	for name, test := range map[string]struct{ text, chain, want string }{
		"no documents": {main, ingress.Chain, ""},
		"accept":       {main + strings.Replace(block, "block", "accept", 1), ingress.Chain, ""},
		"accept, with a rule": {main + apid, ingress.Chain, `filter input -140 accept
iifname @ingress_0_iifname accept
ct state established related accept
ct state invalid counter drop
ip saddr4 != @ingress_3_saddr4 tcp dport @ingress_3_dport counter drop
ip6 tcp dport @ingress_3_dport counter drop
`},
		"accept, with a rule, prerouting": {main + apid, ingress.Prerouting, `filter prerouting -110 accept
iifname @prerouting_0_iifname accept
ct state established related accept
ip ct state invalid daddr4 @prerouting_2_daddr4 counter drop
ip6 ct state invalid daddr6 @prerouting_2_daddr6 counter drop
ip saddr4 != @prerouting_3_saddr4 daddr4 @prerouting_3_daddr4 tcp dport @prerouting_3_dport counter drop
ip6 daddr6 @prerouting_3_daddr6 tcp dport @prerouting_3_dport counter drop
`},
		"accept, with rules about ICMP": {main + ping("icmp", "192.0.2.0/24") + ping("icmpv6", "2001:db8::/64"), ingress.Chain, `filter input -140 accept
iifname @ingress_0_iifname accept
ct state established related accept
ct state invalid counter drop
ip saddr4 != @ingress_3_saddr4 icmp counter drop
ip6 icmpv6 type @ingress_4_type accept
ip6 saddr6 != @ingress_5_saddr6 icmpv6 counter drop
`},
		"accept, with rules about ICMP, prerouting": {main + ping("icmp", "192.0.2.0/24") + ping("icmpv6", "2001:db8::/64"), ingress.Prerouting, `filter prerouting -110 accept
iifname @prerouting_0_iifname accept
ct state established related accept
ip ct state invalid daddr4 @prerouting_2_daddr4 counter drop
ip6 ct state invalid daddr6 @prerouting_2_daddr6 counter drop
`},
		"block": {main + block + apid, ingress.Chain, `filter input -140 drop
iifname @ingress_0_iifname accept
ct state established related accept
ct state invalid counter drop
ip6 icmpv6 type @ingress_3_type accept
ip icmp limit 5/s accept
ip6 icmpv6 limit 5/s accept
ip saddr4 @ingress_6_saddr4 accept
ip daddr4 @ingress_7_daddr4 udp dport @ingress_7_dport accept
ip6 daddr6 @ingress_7_daddr6 udp dport @ingress_7_dport accept
ip daddr4 @ingress_8_daddr4 tcp dport @ingress_8_dport accept
ip6 daddr6 @ingress_8_daddr6 tcp dport @ingress_8_dport accept
ip6 saddr6 @ingress_9_saddr6 udp dport @ingress_9_dport accept
ip saddr4 @ingress_10_saddr4 tcp dport @ingress_10_dport accept
drop
`},
		"block, prerouting": {main + block + apid, ingress.Prerouting, `filter prerouting -110 accept
iifname @prerouting_0_iifname accept
ct state established related accept
ip ct state invalid daddr4 @prerouting_2_daddr4 counter drop
ip6 ct state invalid daddr6 @prerouting_2_daddr6 counter drop
ip icmp accept
ip6 icmpv6 accept
ip saddr4 @prerouting_5_saddr4 accept
ip daddr4 @prerouting_6_daddr4 udp dport @prerouting_6_dport accept
ip6 daddr6 @prerouting_6_daddr6 udp dport @prerouting_6_dport accept
ip daddr4 @prerouting_7_daddr4 tcp dport @prerouting_7_dport accept
ip6 daddr6 @prerouting_7_daddr6 tcp dport @prerouting_7_dport accept
ip6 saddr6 @prerouting_8_saddr6 udp dport @prerouting_8_dport accept
ip saddr4 @prerouting_9_saddr4 tcp dport @prerouting_9_dport accept
ip daddr4 @prerouting_10_daddr4 counter drop
ip6 daddr6 @prerouting_10_daddr6 counter drop
`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""

			if spec, ok := chains(t, test.text)[test.chain]; ok {
				got = fmt.Sprintf("%s %s %s %s\n", spec.Type, spec.Hook, spec.Priority, spec.Policy)

				table, err := packetfilter.Table(map[string]network.NfTablesChainSpec{test.chain: spec})
				if err != nil {
					t.Fatal(err)
				}

				for _, r := range table.Chains[0].Rules {
					got += r.Text + "\n"
				}
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// packet is a TCP or UDP packet to the machine, of no connection.
type packet struct {
	link     string
	from, to netip.Addr
	protocol nethelpers.Protocol
	port     uint16
}

// accepted reports whether both chains let a packet through.
func accepted(chains map[string]network.NfTablesChainSpec, p packet) bool {
	return !slices.ContainsFunc([]string{ingress.Chain, ingress.Prerouting}, func(name string) bool {
		spec, ok := chains[name]

		return ok && verdict(spec, p) == nethelpers.VerdictDrop
	})
}

func verdict(c network.NfTablesChainSpec, p packet) nethelpers.NfTablesVerdict {
	for _, r := range c.Rules {
		if matches(r, p) {
			return *r.Verdict
		}
	}

	return c.Policy
}

func matches(r network.NfTablesRule, p packet) bool {
	inside := func(m *network.NfTablesAddressMatch, a netip.Addr) bool {
		in := func(subnet netip.Prefix) bool { return subnet.Contains(a) }

		return m == nil || (slices.ContainsFunc(m.IncludeSubnets, in) && !slices.ContainsFunc(m.ExcludeSubnets, in)) != m.Invert
	}

	switch l := r.MatchLayer4; {
	case r.MatchConntrackState != nil, r.MatchIIfName != nil && !slices.Contains(r.MatchIIfName.InterfaceNames, p.link):
		return false
	case l != nil && l.Protocol != p.protocol:
		return false
	case l != nil && l.MatchDestinationPort != nil && !slices.ContainsFunc(l.MatchDestinationPort.Ranges, func(r network.PortRange) bool { return r.Lo <= p.port && p.port <= r.Hi }):
		return false
	default:
		return inside(r.MatchSourceAddress, p.from) && inside(r.MatchDestinationAddress, p.to)
	}
}

// TestAccepted compares the chains of random configurations with what the documents say, packet by packet.
func TestAccepted(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 11))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	networks := []string{"192.0.2.0/24", "192.0.2.0/28", "2001:db8::/64", "0.0.0.0/0", "::/0", "10.244.3.0/24"}

	type rule struct {
		protocol      nethelpers.Protocol
		first, last   uint16
		subnet, leave []netip.Prefix
	}

	for range 300 {
		blocked := rng.IntN(2) == 0
		text := main

		if blocked {
			text += block
		}

		var rules []rule

		for i := range rng.IntN(4) {
			r := rule{protocol: nethelpers.ProtocolTCP, first: uint16(1 + rng.IntN(6))}
			r.last = r.first + uint16(rng.IntN(3))

			if rng.IntN(3) == 0 {
				r.protocol = nethelpers.ProtocolUDP
			}

			text += fmt.Sprintf("---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: r%d\nportSelector: {protocol: %s, ports: [%d-%d]}\ningress:\n", i, r.protocol, r.first, r.last)

			for range 1 + rng.IntN(2) {
				subnet, except := netip.MustParsePrefix(pick(networks...)), netip.Prefix{}
				text += "  - subnet: " + subnet.String() + "\n"

				if rng.IntN(2) == 0 {
					except = netip.PrefixFrom(subnet.Addr(), subnet.Bits()+2)
					text += "    except: " + except.String() + "\n"
				}

				r.subnet, r.leave = append(r.subnet, subnet), append(r.leave, except)
			}

			rules = append(rules, r)
		}

		all := chains(t, text)

		for range 100 {
			p := packet{
				link: pick("eth0", "eth0", "eth0", "lo", "kubespan"), to: self[0], protocol: nethelpers.ProtocolTCP, port: uint16(1 + rng.IntN(9)),
				from: netip.MustParseAddr(pick("192.0.2.1", "192.0.2.5", "192.0.2.77", "198.51.100.1", "10.244.3.4", "10.100.0.1")),
			}

			if rng.IntN(3) == 0 {
				p.protocol = nethelpers.ProtocolUDP
			}

			if rng.IntN(3) == 0 {
				p.from, p.to = netip.MustParseAddr(pick("2001:db8::5", "2001:db8:1::1", "fe80::1", "4000::1")), self[1]
			}

			want := !blocked

			for _, r := range rules {
				if r.protocol != p.protocol || p.port < r.first || p.port > r.last {
					continue
				}

				in := false
				for i, s := range r.subnet {
					in = in || s.Contains(p.from) && !(r.leave[i].IsValid() && r.leave[i].Contains(p.from))
				}

				if blocked {
					want = want || in
				} else {
					want = want && in
				}
			}

			cluster := netip.MustParsePrefix("10.244.0.0/16").Contains(p.from) || netip.MustParsePrefix("10.96.0.0/12").Contains(p.from)
			want = want || p.link != "eth0" || blocked && cluster

			if got := accepted(all, p); got != want {
				t.Fatalf("%+v: accepted: got %t, want %t, with\n%s", p, got, want, text)
			}
		}
	}
}
