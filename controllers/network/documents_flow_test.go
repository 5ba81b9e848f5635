// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/netlink"
)

// TestDocumentsComeAndGo applies documents of all links to a kernel in memory, and then removes them.
func TestDocumentsComeAndGo(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1), ethernet("eth1", 2))
	m.boot("")
	m.configure(documents(`
LinkConfig
name: eth0
multicast: false
---
VethConfig
name: va
addresses: [{address: 192.0.2.1/30}]
peer: {name: vb}
---
VRFConfig
name: blue
links: [vb]
table: "123"
---
BridgeConfig
name: br0
links: [eth1]
---
VLANConfig
name: br0.7
vlanID: 7
parent: br0
---
BlackholeRouteConfig
name: 198.51.100.0/24
---
RoutingRuleConfig
name: "1000"
src: 198.51.100.0/24
table: "123"
`))

	await(m, "", "vb", func(s network.LinkStatusSpec) bool {
		return s.Kind == "veth" && s.Veth.PeerName == "va" && s.MasterIndex != 0
	})
	await(m, "", "blue", func(s network.LinkStatusSpec) bool { return s.VRFMaster.Table == 123 })
	await(m, "", "br0.7", func(s network.LinkStatusSpec) bool { return s.VLAN.VID == 7 })
	await(m, "", "eth0", func(s network.LinkStatusSpec) bool {
		return s.Flags&(nethelpers.LinkUp|nethelpers.LinkMulticast) == nethelpers.LinkUp
	})
	await[network.AddressStatusSpec](m, "", "va/192.0.2.1/30", nil)
	await(m, "", "inet4//198.51.100.0/24/1024", func(s network.RouteStatusSpec) bool { return s.Type == nethelpers.TypeBlackhole })
	await(m, "", "inet4/01000", func(s network.RoutingRuleStatusSpec) bool {
		return s.Table == 123 && s.Src == prefix("198.51.100.0/24")
	})
	await(m, "", "rule/inet4/01000", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })

	// A changed rule takes the place of the old one; another table makes another VRF.
	m.configure(documents(`
LinkConfig
name: eth0
---
VRFConfig
name: blue
table: "124"
---
RoutingRuleConfig
name: "1000"
src: 198.51.100.0/24
table: "124"
`))

	await(m, "", "inet4/01000", func(s network.RoutingRuleStatusSpec) bool { return s.Table == 124 })
	awaitGone[network.RoutingRuleStatusSpec](m, "", "inet4/01000/2")
	await(m, "", "blue", func(s network.LinkStatusSpec) bool { return s.VRFMaster.Table == 124 })

	for _, gone := range []string{"va", "vb", "br0", "br0.7"} {
		awaitGone[network.LinkStatusSpec](m, "", gone)
	}

	awaitGone[network.RouteStatusSpec](m, "", "inet4//198.51.100.0/24/1024")

	m.configure("version: v1alpha1\nmachine: {type: worker}\n")
	awaitGone[network.LinkStatusSpec](m, "", "blue")
	awaitGone[network.RoutingRuleStatusSpec](m, "", "inet4/01000")
	await(m, "", "dhcp4/eth0", func(s network.OperatorSpecSpec) bool { return s.Layer == network.LayerDefault })

	if rules, _ := m.kernel.Rules(); len(rules) != 0 {
		t.Errorf("got rules %v, want none", rules)
	}
}

// TestMulticastIsRestored checks that a setting that is taken back is undone.
func TestMulticastIsRestored(t *testing.T) {
	card := ethernet("eth0", 1)
	card.Flags |= uint32(nethelpers.LinkMulticast)

	m := newMachine(t, card)
	m.boot("")

	multicast := func(want bool) func(network.LinkStatusSpec) bool {
		return func(s network.LinkStatusSpec) bool { return s.Flags&nethelpers.LinkMulticast != 0 == want }
	}

	m.configure(documents("LinkConfig\nname: eth0\nmulticast: false\n"))
	await(m, "", "eth0", multicast(false))
	m.configure(documents("LinkConfig\nname: eth0\n"))
	await(m, "", "eth0", multicast(true))
}

// TestRulePlan checks that a rule that is there is not added, and that one of another program stays.
func TestRulePlan(t *testing.T) {
	spec := network.RoutingRuleSpecSpec{Family: nethelpers.FamilyInet4, Priority: 1000, Table: 123, Action: nethelpers.RuleUnicast}
	other := netlink.Rule{Family: 2, Priority: 1000, Table: 9, Action: 1, Protocol: 3}
	specs := held[network.RoutingRuleSpecSpec]{wanted: []item[network.RoutingRuleSpecSpec]{{spec.ID(), spec}}}
	p := &rulePlanner{set: map[string][]netlink.Rule{}}

	if got := p.plan(specs, &netlink.Snapshot{Rules: []netlink.Rule{other}}).steps; len(got) != 1 || got[0].what != "add rule 1000: from all lookup 123" {
		t.Errorf("the rule is missing: got %v", got)
	}

	if got := p.plan(specs, &netlink.Snapshot{Rules: []netlink.Rule{other, ruleOf(spec)}}).steps; len(got) != 0 {
		t.Errorf("the rule is there: got %v", got)
	}

	specs.leaving, specs.wanted = specs.wanted, nil
	if got := p.plan(specs, &netlink.Snapshot{Rules: []netlink.Rule{other, ruleOf(spec)}}).steps; len(got) != 1 || got[0].what != "remove rule 1000: from all lookup 123" {
		t.Errorf("the rule is not wanted: got %v", got)
	}
}
