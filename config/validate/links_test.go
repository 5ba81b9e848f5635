// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/validate"
)

// document returns a patch that adds a document.
func document(kind, keys string) string {
	return "apiVersion: v1alpha1\nkind: " + kind + "\n" + strings.ReplaceAll(keys, "; ", "\n") + "\n"
}

// TestLinksTogether checks documents that are valid by themselves. Without a path they are valid together.
func TestLinksTogether(t *testing.T) {
	for _, tt := range []struct {
		name    string
		patches []string
		path    string
		want    string
	}{
		{"a card with DHCP", []string{document("LinkConfig", "name: eth7"), document("DHCPv4Config", "name: eth7"), document("DHCPv6Config", "name: eth7")}, "", ""},
		{"two kinds for a link", []string{document("LinkConfig", "name: bond7"), document("BondConfig", "name: bond7; links: [eth7]; bondMode: active-backup")},
			"BondConfig[bond7]", "described by LinkConfig[bond7]"},
		{"the other end of a pair", []string{document("DummyLinkConfig", "name: vb"), document("VethConfig", "name: va; peer: {name: vb}")},
			"VethConfig[va]", "link vb is described by DummyLinkConfig[vb]"},
		{"a key and a document", []string{device("interface: eth7"), document("LinkConfig", "name: eth7")},
			"LinkConfig[eth7]", "machine.network.interfaces[0]"},
		{"a key's VLAN and a document", []string{device("interface: eth7, vlans: [{vlanId: 3}]"), document("VLANConfig", "name: eth7.3; vlanID: 3; parent: eth7")},
			"VLANConfig[eth7.3]", "machine.network.interfaces[0]"},
		{"two DHCP clients", []string{device("interface: eth7, dhcp: true"), document("DHCPv4Config", "name: eth7")},
			"DHCPv4Config[eth7]", "the DHCPv4 client of eth7"},
		{"a key and a DHCP client", []string{device("interface: eth7, mtu: 1400"), document("DHCPv4Config", "name: eth7")}, "", ""},
		{"a port of two", []string{document("BridgeConfig", "name: br0; links: [eth7, eth8]"), document("VRFConfig", "name: blue; links: [eth8]; table: \"7\"")},
			"VRFConfig[blue].links[0]", "BridgeConfig[br0]"},
		{"a port of itself", []string{document("BridgeConfig", "name: br0; links: [br0]")}, "BridgeConfig[br0].links[0]", "itself"},
		{"a VLAN twice", []string{document("VLANConfig", "name: a; vlanID: 3; parent: eth7"), document("VLANConfig", "name: b; vlanID: 3; parent: eth7; vlanMode: 802.1q")},
			"VLANConfig[b]", "described by VLANConfig[a]"},
		{"a VLAN of another protocol", []string{document("VLANConfig", "name: a; vlanID: 3; parent: eth7"), document("VLANConfig", "name: b; vlanID: 3; parent: eth7; vlanMode: 802.1ad")}, "", ""},
		{"a bond of every key's default", []string{document("BondConfig", "name: bond7")}, "", ""},
		{"a bond that the kernel refuses", []string{document("BondConfig", "name: bond7; bondMode: 802.3ad; adUserPortKey: 5000")}, "BondConfig[bond7].adUserPortKey", "out of range"},
		{"another name of the key", []string{document("BondConfig", "name: bond7; bondMode: 802.3ad; tlbLogicalLb: 0")}, "BondConfig[bond7].tlbLogicalLb", "no effect in mode 802.3ad"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := validate.Validate(patched(t, configtest.ControlPlane(t), tt.patches...), validate.Metal)

			var findings validate.Findings

			errors.As(err, &findings)

			for _, f := range findings {
				if f.Path == tt.path && strings.Contains(f.Text, tt.want) {
					return
				}
			}

			if tt.path != "" || err != nil {
				t.Errorf("got %v, want %q at %q", err, tt.want, tt.path)
			}
		})
	}
}

// TestNoLinkAddressed: a document about a link ends DHCP on the cards, so there is a warning if no card is left with an address.
func TestNoLinkAddressed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		patches []string
		want    bool
	}{
		{"no document", nil, false},
		{"a dummy link", []string{document("DummyLinkConfig", "name: dummy7; addresses: [{address: 192.0.2.7/32}]")}, true},
		{"a card without an address", []string{document("LinkConfig", "name: eth7; mtu: 1400")}, true},
		{"a DHCP client", []string{document("DummyLinkConfig", "name: dummy7"), document("DHCPv4Config", "name: eth7")}, false},
		{"an address", []string{document("LinkConfig", "name: eth7; addresses: [{address: 192.0.2.7/24}]")}, false},
		{"a key with DHCP", []string{document("DummyLinkConfig", "name: dummy7"), device("interface: eth7, dhcp: true")}, false},
		{"a VLAN with DHCP", []string{document("DummyLinkConfig", "name: dummy7"), device("interface: eth7, vlans: [{vlanId: 3, dhcp: true}]")}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			warnings, err := validate.Validate(patched(t, configtest.ControlPlane(t), tt.patches...), validate.Metal)
			if err != nil {
				t.Fatal(err)
			}

			got := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "ends DHCP on all network cards") })
			if got != tt.want {
				t.Errorf("got a warning: %t, want %t; warnings: %v", got, tt.want, warnings)
			}
		})
	}
}
