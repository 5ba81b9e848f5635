// SPDX-License-Identifier: Apache-2.0

package packetfilter_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/network/packetfilter"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func ptr[T any](v T) *T { return &v }

func subnets(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}

	return out
}

func ports(p nethelpers.Protocol, ranges ...network.PortRange) *network.NfTablesLayer4Match {
	return &network.NfTablesLayer4Match{Protocol: p, MatchDestinationPort: &network.NfTablesPortMatch{Ranges: ranges}}
}

// rules are rules of each kind, with what they become.
var rules = map[string]struct {
	rule network.NfTablesRule
	want string // rules, then sets
	err  string
}{
	"verdict": {network.NfTablesRule{Verdict: ptr(nethelpers.VerdictAccept)}, "accept", ""},
	"links": {
		network.NfTablesRule{MatchIIfName: &network.NfTablesIfNameMatch{InterfaceNames: []string{"lo", "eth0", "lo"}}, Verdict: ptr(nethelpers.VerdictDrop)},
		"iifname @c_0_iifname drop; c_0_iifname: eth0 lo", "",
	},
	"not these links": {
		network.NfTablesRule{MatchOIfName: &network.NfTablesIfNameMatch{Operator: nethelpers.OperatorNotEqual, InterfaceNames: []string{"lo"}}, AnonCounter: true},
		"oifname != @c_0_oifname counter; c_0_oifname: lo", "",
	},
	"no links": {network.NfTablesRule{MatchOIfName: &network.NfTablesIfNameMatch{}}, "", ""},
	"addresses of both families": {
		network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("192.0.2.0/25", "2001:db8::/32", "192.0.2.128/25"), ExcludeSubnets: subnets("192.0.2.7/32")}},
		"ip saddr4 @c_0_saddr4; ip6 saddr6 @c_0_saddr6; c_0_saddr4: 192.0.2.0-192.0.2.6 192.0.2.8-192.0.2.255; c_0_saddr6: 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "",
	},
	"of one family, inverted: all of the other": {
		network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("192.0.2.0/24"), Invert: true}, Verdict: ptr(nethelpers.VerdictDrop)},
		"ip saddr4 != @c_0_saddr4 drop; ip6 drop; c_0_saddr4: 192.0.2.0-192.0.2.255", "",
	},
	"of one family": {
		network.NfTablesRule{MatchDestinationAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("2001:db8::1/128")}},
		"ip6 daddr6 @c_0_daddr6; c_0_daddr6: 2001:db8::1", "",
	},
	"all addresses":           {network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("0.0.0.0/0", "::/0")}}, "ip; ip6", ""},
	"all addresses, inverted": {network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("0.0.0.0/0"), Invert: true}}, "ip6", ""},
	"no addresses":            {network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{}}, "", ""},
	"no addresses, inverted":  {network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{Invert: true}}, "ip; ip6", ""},
	"all of IPv4 without a part": {
		network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets("0.0.0.0/0"), ExcludeSubnets: subnets("192.0.2.0/24")}},
		"ip saddr4 @c_0_saddr4; c_0_saddr4: 0.0.0.0-192.0.1.255 192.0.3.0-255.255.255.255", "",
	},
	"ports": {
		network.NfTablesRule{MatchLayer4: ports(nethelpers.ProtocolTCP, network.PortRange{Lo: 80, Hi: 90}, network.PortRange{Lo: 22, Hi: 22}, network.PortRange{Lo: 91, Hi: 95}, network.PortRange{Lo: 65535, Hi: 65535})},
		"tcp dport @c_0_dport; c_0_dport: 22 80-95 65535", "",
	},
	"types of ICMP": {
		network.NfTablesRule{MatchLayer4: &network.NfTablesLayer4Match{Protocol: nethelpers.ProtocolICMPv6, MatchICMPType: &network.NfTablesICMPTypeMatch{Types: []nethelpers.ICMPType{135, 133}}}},
		"ip6 icmpv6 type @c_0_type; c_0_type: 133 135", "",
	},
	"limit": {
		network.NfTablesRule{MatchLayer4: &network.NfTablesLayer4Match{Protocol: nethelpers.ProtocolICMP}, MatchLimit: &network.NfTablesLimitMatch{PacketRatePerSecond: 5}},
		"ip icmp limit 5/s", "",
	},
	"states": {
		network.NfTablesRule{MatchConntrackState: &network.NfTablesConntrackStateMatch{States: []nethelpers.ConntrackState{nethelpers.ConntrackStateEstablished, nethelpers.ConntrackStateRelated}}},
		"ct state established related", "",
	},
	"marks": {
		network.NfTablesRule{MatchMark: &network.NfTablesMark{Mask: 0x60, Value: 0x20}, SetMark: &network.NfTablesMark{Mask: 0xffffff9f, Xor: 0x40}},
		"mark & 0x60 ^ 0x0 == 0x20 mark set mark & 0xffffff9f ^ 0x40", "",
	},
	"segment size":      {network.NfTablesRule{ClampMSS: &network.NfTablesClampMSS{MTU: 1420}}, "ip tcp flags syn clamp maxseg 1368; ip6 tcp flags syn clamp maxseg 1348", ""},
	"MTU too small":     {network.NfTablesRule{ClampMSS: &network.NfTablesClampMSS{MTU: 60}}, "", "chain c: rule 0: MTU 60 is out of range"},
	"ports of ICMP":     {network.NfTablesRule{MatchLayer4: ports(nethelpers.ProtocolICMP, network.PortRange{Lo: 1, Hi: 1})}, "", "ICMP, but not the protocol"},
	"ports of anything": {network.NfTablesRule{MatchLayer4: ports(0, network.PortRange{Lo: 1, Hi: 1})}, "", "ICMP, but not the protocol"},
}

func chain(r network.NfTablesRule) map[string]network.NfTablesChainSpec {
	return map[string]network.NfTablesChainSpec{"c": {Type: "filter", Hook: nethelpers.ChainHookOutput, Policy: nethelpers.VerdictAccept, Rules: []network.NfTablesRule{r}}}
}

func TestTable(t *testing.T) {
	for name, test := range rules {
		t.Run(name, func(t *testing.T) {
			table, err := packetfilter.Table(chain(test.rule))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got %v, want an error with %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, show(table)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamesOfSets: the sets of a chain stay as long as its rules do, whatever is in them.
func TestNamesOfSets(t *testing.T) {
	names := func(r ...network.NfTablesRule) string {
		c := chain(r[0])["c"]
		c.Rules = r

		table, err := packetfilter.Table(map[string]network.NfTablesChainSpec{"c": c})
		if err != nil {
			t.Fatal(err)
		}

		return table.Sets[0].Name
	}

	rule := func(subnet string) network.NfTablesRule {
		return network.NfTablesRule{MatchSourceAddress: &network.NfTablesAddressMatch{IncludeSubnets: subnets(subnet)}}
	}

	if one, other := names(rule("192.0.2.0/24")), names(rule("198.51.100.0/24")); one != other {
		t.Errorf("another network: got %s and %s, want the same set", one, other)
	}

	if one, other := names(rule("192.0.2.0/24")), names(rule("192.0.2.0/24"), rule("198.51.100.0/24")); one == other {
		t.Errorf("another rule: got %s twice, want another set", one)
	}
}

// TestKernelTakesTable: the kernel understands the expressions of each rule.
func TestKernelTakesTable(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	k := nft.New(packetfilter.TableName)

	for name, test := range rules {
		if test.err != "" {
			continue
		}

		want, err := packetfilter.Table(chain(test.rule))
		if err != nil {
			t.Fatal(err)
		}

		have, err := k.Read()
		if err != nil {
			t.Skipf("no packet filter: %v", err)
		}

		if err := k.Apply(nft.Diff(have, want)); err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		if have, err = k.Read(); err != nil || !nft.Diff(have, want).Empty() {
			t.Errorf("%s: %v: got %+v, want %+v", name, err, have, want)
		}
	}
}

// show prints rules, then sets.
func show(t nft.Table) string {
	var out []string

	for _, r := range t.Chains[0].Rules {
		out = append(out, r.Text)
	}

	for _, s := range t.Sets {
		text := s.Name[:strings.LastIndex(s.Name, "_")] + ":"

		for _, r := range s.Ranges {
			text += " " + value(s.Kind, r.First)
			if r.Last != r.First {
				text += "-" + value(s.Kind, r.Last)
			}
		}

		out = append(out, text)
	}

	return strings.Join(out, "; ")
}

func value(k nft.Kind, v string) string {
	switch k {
	case nft.Ports:
		return fmt.Sprint(int(v[0])<<8 | int(v[1]))
	case nft.Links:
		return strings.TrimRight(v, "\x00")
	case nft.ICMPTypes:
		return fmt.Sprint(v[0])
	default:
		a, _ := netip.AddrFromSlice([]byte(v))

		return a.String()
	}
}
