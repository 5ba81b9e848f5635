// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// documents returns a configuration of documents, without their common line.
func documents(text string) string {
	return strings.ReplaceAll("kind: "+strings.ReplaceAll(strings.TrimSpace(text), "\n---\n", "\n---\nkind: "), "kind: ", "apiVersion: v1alpha1\nkind: ")
}

// TestDocumentLayers checks what documents propose. Cards without a document are up and have no DHCP.
func TestDocumentLayers(t *testing.T) {
	for _, tt := range []struct{ name, documents, want string }{
		{"a card, by an alternative name", `
LinkConfig
name: enp0s4
mtu: 9000
multicast: false
addresses: [{address: 192.0.2.7/24}, {address: "2001:db8::7/64", routePriority: 77}]
routes:
  - {gateway: 192.0.2.1}
  - {destination: 203.0.113.0/24, gateway: 192.0.2.9, metric: 5, mtu: 1400, table: "123", source: 192.0.2.7}
`, `
default link lo
default link eth0
configuration link eth1 mtu 9000 multicast false
configuration address eth1/192.0.2.7/24
configuration address eth1/2001:db8::7/64 metric 77
configuration route inet4/192.0.2.1//1024 dev eth1 scope global
configuration route 123/inet4/192.0.2.9/203.0.113.0/24/5 dev eth1 scope global
`},
		{"a card that is down", "LinkConfig\nname: eth0\nup: false\n---\nDHCPv4Config\nname: eth0\n", `
default link lo
default link eth1
configuration link eth0 down
configuration operator dhcp4/eth0 metric 1024
`},
		{"DHCP on one card", `
DHCPv4Config
name: eth0
routeMetric: 50
---
DHCPv6Config
name: eth1
clientIdentifier: duid
duidRaw: "00:03:00:01"
`, `
default link lo
configuration link eth0
configuration link eth1
configuration operator dhcp4/eth0 metric 50
configuration operator dhcp6/eth1 metric 102400030001
`},
		{"a bond with a VLAN in a VRF, and a bridge of another VLAN", `
BondConfig
name: bond0
bondMode: active-backup
links: [enp0s4, eth0]
primary: enp0s4
mtu: 1400
hardwareAddr: "02:00:00:00:00:07"
---
VLANConfig
name: storage
vlanID: 7
parent: bond0
vlanMode: 802.1ad
addresses: [{address: 192.0.2.7/24}]
---
VRFConfig
name: blue
links: [storage]
table: "123"
---
VLANConfig
name: bond0.8
vlanID: 8
parent: bond0
---
BridgeConfig
name: br0
links: [bond0.8]
stp: {enabled: true}
vlan: {filtering: true}
`, `
default link lo
configuration link blue vrf table 123
configuration link bond0 bond mtu 1400 active-backup 02:00:00:00:00:07
configuration link bond0.8 vlan vlan 8 of bond0 in br0
configuration link br0 bridge stp filtering
configuration link eth0 in bond0
configuration link eth1 in bond0
configuration link storage vlan vlan 7 of bond0 in blue 802.1ad
configuration address storage/192.0.2.7/24
`},
		{"a pair, a dummy link", `
VethConfig
name: va
addresses: [{address: 192.0.2.1/30}]
peer:
  name: vb
  mtu: 1300
  addresses: [{address: 192.0.2.2/30}]
---
DummyLinkConfig
name: dummy0
hardwareAddr: "02:00:00:00:00:09"
addresses: [{address: 192.0.2.100/32}]
`, `
default link lo
default link eth0
default link eth1
configuration link dummy0 dummy 02:00:00:00:00:09
configuration link va veth peer vb
configuration link vb veth mtu 1300 peer va
configuration address va/192.0.2.1/30
configuration address vb/192.0.2.2/30
configuration address dummy0/192.0.2.100/32
`},
		{"routes to nowhere and rules: DHCP stays", `
BlackholeRouteConfig
name: 198.51.100.0/24
---
BlackholeRouteConfig
name: 2001:db8:1::/48
metric: 7
---
RoutingRuleConfig
name: "1000"
src: 198.51.100.0/24
table: "123"
---
RoutingRuleConfig
name: "900"
iifName: eth0
fwMark: 255
action: 6
`, `
default link lo
default link eth0
default link eth1
configuration route inet4//198.51.100.0/24/1024 dev  scope global blackhole
configuration route inet6//2001:db8:1::/48/7 dev  scope global blackhole
configuration rule inet4/01000 1000: from 198.51.100.0/24 lookup 123
configuration rule inet4/00900 900: from all fwmark 0xff/0xffffffff iif eth0 action 6
configuration rule inet6/00900 900: from all fwmark 0xff/0xffffffff iif eth0 action 6
default operator dhcp4/eth0 metric 1024
default operator dhcp4/eth1 metric 1024
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := given(t, "", "")
			f.configure(t, documents(tt.documents))

			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), show(t, f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDHCPDocuments checks the settings of clients, which TestDocumentLayers does not print.
func TestDHCPDocuments(t *testing.T) {
	f := given(t, "", "")
	f.configure(t, documents(`
DHCPv4Config
name: eth0
ignoreHostname: true
ignoreRoutes: true
clientIdentifier: mac
---
DHCPv6Config
name: eth0
ignoreHostname: true
`))

	got := operatorLayers(f, nil)

	want := []network.OperatorSpecSpec{
		{
			Operator: network.OperatorDHCP4, LinkName: "eth0", RequireUp: true, Layer: network.LayerConfiguration,
			DHCP4: network.DHCP4OperatorSpec{
				RouteMetric: 1024, SkipHostnameRequest: true, SkipRoutes: true,
				ClientIdentifier: network.ClientIdentifierSpec{ClientIdentifier: nethelpers.ClientIdentifierMAC},
			},
		},
		{
			Operator: network.OperatorDHCP6, LinkName: "eth0", RequireUp: true, Layer: network.LayerConfiguration,
			DHCP6: network.DHCP6OperatorSpec{RouteMetric: 1024, SkipHostnameRequest: true},
		},
	}

	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBondDocument checks that the keys of a document reach the bond.
func TestBondDocument(t *testing.T) {
	f := given(t, "", "")
	f.configure(t, documents(`
BondConfig
name: bond0
bondMode: 802.3ad
links: [eth0]
miimon: 50
updelay: 200
xmitHashPolicy: layer3+4
lacpRate: fast
adActorSysPrio: 7
adLACPActive: "off"
missedMax: 5
`))

	links := linkLayers(f, nil)

	for _, l := range links {
		b := l.BondMaster
		if l.Name == "bond0" && (b.MIIMon != 50 || b.UpDelay != 200 || b.HashPolicy != 1 || b.LACPRate != 1 || b.ADActorSysPrio != 7 || b.ADLACPActive != 0 || b.MissedMax != 5) {
			t.Errorf("got %+v", b)
		}
	}
}
