// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestRealDocuments applies documents to the real kernel: a pair, a bridge, routes with tables and to nowhere, rules.
func TestRealDocuments(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _ := onRealKernel(t)
	m.configure(documents(`
VethConfig
name: va
mtu: 1400
multicast: false
addresses: [{address: 192.0.2.1/24, routePriority: 77}, {address: "2001:db8::1/64"}]
routes:
  - {destination: 203.0.113.0/24, gateway: 192.0.2.9, table: "1000"}
peer: {name: vb}
---
BridgeConfig
name: br0
links: [vb]
stp: {enabled: true}
hardwareAddr: "02:00:00:00:00:07"
addresses: [{address: 198.51.100.1/24}]
---
BlackholeRouteConfig
name: 198.18.0.0/15
---
BlackholeRouteConfig
name: 2001:db8:9::/48
metric: 7
---
RoutingRuleConfig
name: "1000"
src: 203.0.113.0/24
fwMark: 16
table: "1000"
---
RoutingRuleConfig
name: "2000"
iifName: va
action: 7
`))

	await(m, "", "va", func(s network.LinkStatusSpec) bool {
		return s.MTU == 1400 && s.Veth.PeerName == "vb" && s.Flags&nethelpers.LinkMulticast == 0 && s.LinkState
	})
	bridge := await(m, "", "br0", func(s network.LinkStatusSpec) bool {
		return s.BridgeMaster.STP.Enabled && s.HardwareAddr.String() == "02:00:00:00:00:07"
	})
	await(m, "", "vb", func(s network.LinkStatusSpec) bool { return s.MasterIndex == bridge.Index })
	await(m, "", "va/192.0.2.1/24", func(s network.AddressStatusSpec) bool { return s.Priority == 77 })
	await(m, "", "inet4//192.0.2.0/24/77", func(s network.RouteStatusSpec) bool { return s.Protocol.String() == "kernel" })
	await[network.AddressStatusSpec](m, "", "br0/198.51.100.1/24", nil)
	await(m, "", "1000/inet4/192.0.2.9/203.0.113.0/24/1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == "va" })
	await(m, "", "inet4//198.18.0.0/15/1024", func(s network.RouteStatusSpec) bool { return s.Type == nethelpers.TypeBlackhole })
	await(m, "", "lo/inet6//2001:db8:9::/48/7", func(s network.RouteStatusSpec) bool { return s.Type == nethelpers.TypeBlackhole })
	await(m, "", "inet4/01000", func(s network.RoutingRuleStatusSpec) bool {
		return s.Table == 1000 && s.FwMark == 16 && s.FwMask == 0xffffffff && s.Src == prefix("203.0.113.0/24")
	})
	await(m, "", "inet4/02000", func(s network.RoutingRuleStatusSpec) bool {
		return s.Action.String() == "unreachable" && s.IIFName == "va"
	})
	await(m, "", "inet6/02000", func(s network.RoutingRuleStatusSpec) bool { return s.IIFName == "va" })

	steady(m)

	// Another peer makes another pair; a bridge without the port stays.
	m.configure(documents("VethConfig\nname: va\npeer: {name: vc}\n---\nBridgeConfig\nname: br0\nlinks: [vc]\n---\nRoutingRuleConfig\nname: \"1000\"\ntable: main\n"))
	await(m, "", "vc", func(s network.LinkStatusSpec) bool { return s.MasterIndex == bridge.Index })
	awaitGone[network.LinkStatusSpec](m, "", "vb")
	await(m, "", "inet4/01000", func(s network.RoutingRuleStatusSpec) bool { return s.Table == nethelpers.TableMain && s.FwMark == 0 })
	await(m, "", "inet6/01000", func(s network.RoutingRuleStatusSpec) bool { return s.Table == nethelpers.TableMain })
	awaitGone[network.RoutingRuleStatusSpec](m, "", "inet4/01000/2")
	awaitGone[network.RoutingRuleStatusSpec](m, "", "inet4/02000")
	awaitGone[network.RouteStatusSpec](m, "", "inet4//198.18.0.0/15/1024")
	awaitGone[network.RouteStatusSpec](m, "", "lo/inet6//2001:db8:9::/48/7")

	m.configure("version: v1alpha1\nmachine: {type: worker}\n")

	for _, gone := range []string{"va", "vc", "br0"} {
		awaitGone[network.LinkStatusSpec](m, "", gone)
	}

	awaitGone[network.RoutingRuleStatusSpec](m, "", "inet4/01000")
	await(m, "", "inet4/32766", func(s network.RoutingRuleStatusSpec) bool { return s.Table == nethelpers.TableMain })
}

// steady checks that all specs become applied, and that no link or rule is then made again. (The spanning tree changes flags.)
func steady(m *machine) {
	m.t.Helper()

	conditions, err := typed.List[network.SpecConditionSpec](m.t.Context(), m.state, "")
	if err != nil {
		m.t.Fatal(err)
	}

	for _, c := range conditions {
		await(m, "", c.Metadata().ID(), func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })
	}

	seen := func() (versions []string) {
		links, err1 := typed.List[network.LinkStatusSpec](m.t.Context(), m.state, "")
		rules, err2 := typed.List[network.RoutingRuleStatusSpec](m.t.Context(), m.state, "")

		if err := errors.Join(err1, err2); err != nil {
			m.t.Fatal(err)
		}

		for _, l := range links {
			versions = append(versions, fmt.Sprint(l.TypedSpec().Index, l.TypedSpec().MasterIndex, l.Metadata().ID()))
		}

		for _, r := range rules {
			versions = append(versions, r.Metadata().String())
		}

		return versions
	}

	before := seen()

	time.Sleep(time.Second)

	if after := seen(); !slices.Equal(before, after) {
		m.t.Errorf("a second later: got %v, want %v", after, before)
	}
}

// TestRealMTU sets the MTU of a link that the machine creates, changes it, and restores the kernel's.
func TestRealMTU(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	m, _ := onRealKernel(t)

	var index uint32

	for i, c := range []struct {
		key  string
		want uint32
	}{{"mtu: 1400\n", 1400}, {"mtu: 1300\n", 1300}, {"", 1500}, {"mtu: 1400\n", 1400}, {"", 1500}} {
		m.configure(documents("VethConfig\nname: va\n" + c.key + "peer: {name: vb}\n"))

		s := await(m, "", "va", func(s network.LinkStatusSpec) bool { return s.MTU == c.want && s.LinkState })
		if i > 0 && s.Index != index {
			t.Errorf("%d: another link was created", c.want)
		}

		index = s.Index

		steady(m)
	}
}
