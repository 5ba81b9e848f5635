// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/network"
)

func TestMerge(t *testing.T) {
	resolvers := func(layer network.ConfigLayer, servers, search string) proposal[network.ResolverSpecSpec] {
		s := network.ResolverSpecSpec{Layer: layer}

		for _, a := range strings.Fields(servers) {
			s.DNSServers = append(s.DNSServers, addr(a))
		}

		s.SearchDomains = strings.Fields(search)

		return proposal[network.ResolverSpecSpec]{fmt.Sprint(layer, "/", servers), s}
	}
	def := resolvers(network.LayerDefault, "1.1.1.1 8.8.8.8", "lab.test")
	dhcp := resolvers(network.LayerOperator, "10.0.0.1", "")
	dhcp2 := resolvers(network.LayerOperator, "10.0.0.2", "two.test")
	search := resolvers(network.LayerConfiguration, "", "cfg.test")
	none := resolvers(network.LayerConfiguration, "", "")
	none.spec.SearchDomainsOverridden = true

	for _, tt := range []struct {
		name      string
		proposals []proposal[network.ResolverSpecSpec]
		want      string
	}{
		{"default only", []proposal[network.ResolverSpecSpec]{def}, "[1.1.1.1 8.8.8.8] [lab.test]"},
		{"DHCP before default", []proposal[network.ResolverSpecSpec]{def, dhcp}, "[10.0.0.1] [lab.test]"},
		{"two DHCP clients are joined", []proposal[network.ResolverSpecSpec]{dhcp2, def, dhcp}, "[10.0.0.1 10.0.0.2] [two.test]"},
		{"only search domains configured", []proposal[network.ResolverSpecSpec]{def, dhcp, search}, "[10.0.0.1] [cfg.test]"},
		{"no search domain", []proposal[network.ResolverSpecSpec]{none, def, dhcp2}, "[10.0.0.2] []"},
	} {
		got := winners(tt.proposals, combineResolvers)[network.ResolverID]
		if text := fmt.Sprint(got.DNSServers, " ", got.SearchDomains); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
	}

	// A link keeps settings that a higher layer leaves open, and no proposal changes another.
	links := []proposal[network.LinkSpecSpec]{
		{"default/eth0", network.LinkSpecSpec{Name: "eth0", Up: true}},
		{"operator/eth0", network.LinkSpecSpec{Name: "eth0", MTU: 1400, Up: true, Layer: network.LayerOperator}},
		{"configuration/eth0", network.LinkSpecSpec{Name: "eth0", Up: true, BondSlave: network.BondSlave{MasterName: "bond0"}, Layer: network.LayerConfiguration}},
	}
	want := network.LinkSpecSpec{Name: "eth0", Up: true, MTU: 1400, BondSlave: network.BondSlave{MasterName: "bond0"}, Layer: network.LayerConfiguration}

	if diff := cmp.Diff(want, winners(links, combineLinks)["eth0"]); diff != "" {
		t.Errorf("link (-want +got):\n%s", diff)
	}

	addresses := winners([]proposal[network.AddressSpecSpec]{
		{"a", network.AddressSpecSpec{Address: prefix("10.0.0.1/24"), LinkName: "eth0", Layer: network.LayerConfiguration}},
		{"b", network.AddressSpecSpec{Address: prefix("10.0.0.1/24"), LinkName: "eth0", Layer: network.LayerOperator}},
		{"c", network.AddressSpecSpec{Address: prefix("10.0.0.2/24"), LinkName: "eth0", Layer: network.LayerOperator}},
	}, nil)
	if len(addresses) != 2 || addresses["eth0/10.0.0.1/24"].Layer != network.LayerConfiguration {
		t.Errorf("addresses: got %v", addresses)
	}
}
