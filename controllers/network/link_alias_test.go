// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	"github.com/seed-59268b81/talos/resources/network"
)

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
