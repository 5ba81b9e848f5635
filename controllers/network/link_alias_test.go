// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
)

// TestAliasMoves: an alias that another card gets takes the settings with it, in both orders of the cards.
func TestAliasMoves(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1), ethernet("eth1", 2))
	m.boot("")

	for range 2 {
		aliasMoves(m, "eth1", "eth0", 2)
		aliasMoves(m, "eth0", "eth1", 1)
	}
}

// aliasMoves gives the alias of a document to the card with a hardware address, and waits until its settings are there and the other card has none
// of them.
func aliasMoves(m *machine, card, other string, last int) {
	m.t.Helper()

	m.configure(documents(fmt.Sprintf(`
LinkAliasConfig
name: net0
selector: {match: 'mac(link.permanent_addr) == "52:54:00:00:00:%02d"'}
---
LinkConfig
name: net0
mtu: 1300
addresses: [{address: 192.0.2.7/24}, {address: "2001:db8::7/64"}]
routes: [{destination: 203.0.113.0/24, gateway: 192.0.2.9}, {destination: "2001:db8:f::/48", gateway: "2001:db8::9"}]
`, last)))

	await(m, "", card, func(s network.LinkStatusSpec) bool { return s.Alias == "net0" && s.MTU == 1300 })
	await(m, "", other, func(s network.LinkStatusSpec) bool { return s.Alias == "" && len(s.AltNames) == 0 && s.MTU == 1500 })

	for _, address := range []string{"192.0.2.7/24", "2001:db8::7/64"} {
		await[network.AddressStatusSpec](m, "", card+"/"+address, nil)
		awaitGone[network.AddressStatusSpec](m, "", other+"/"+address)
	}

	await(m, "", "inet4/192.0.2.9/203.0.113.0/24/1024", func(s network.RouteStatusSpec) bool { return s.OutLinkName == card })
	await[network.RouteStatusSpec](m, "", card+"/inet6/2001:db8::9/2001:db8:f::/48/1024", nil)
	awaitGone[network.RouteStatusSpec](m, "", other+"/inet6/2001:db8::9/2001:db8:f::/48/1024")
}

// TestAliasNamesALink checks that a document means a link by its alias, and that the alias goes with its document.
func TestAliasNamesALink(t *testing.T) {
	m := newMachine(t, ethernet("eth0", 1), ethernet("eth1", 2))
	m.boot("")
	m.configure(documents(`
LinkAliasConfig
name: net0
selector: {match: 'mac(link.permanent_addr) == "52:54:00:00:00:02"'}
---
LinkConfig
name: net0
mtu: 1300
addresses: [{address: 192.0.2.7/24}]
`))

	await(m, "", "eth1", func(s network.LinkStatusSpec) bool { return s.Alias == "net0" && s.MTU == 1300 })
	await[network.AddressStatusSpec](m, "", "eth1/192.0.2.7/24", nil)
	await(m, "", "eth1", func(s network.LinkAliasSpecSpec) bool { return s.Alias == "net0" })

	m.configure(documents("LinkConfig\nname: eth0\n"))
	await(m, "", "eth1", func(s network.LinkStatusSpec) bool { return s.Alias == "" && len(s.AltNames) == 0 && s.MTU == 1500 })
	awaitGone[network.AddressStatusSpec](m, "", "eth1/192.0.2.7/24")
}
