// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// TestEndsDHCP: a document about one link ends DHCP on all cards, which the machine says before it is too late.
func TestEndsDHCP(t *testing.T) {
	card := func(last byte, carrier bool) network.LinkStatusSpec {
		return network.LinkStatusSpec{Type: 1, HardwareAddr: []byte{0x52, 0x54, 0, 0, 0, last}, LinkState: carrier, Index: uint32(last)}
	}

	for _, tt := range []struct {
		name, args, now, next string
		want                  []string
	}{
		{"nothing about links", "", "", "", nil},
		{"one of two cards has an address", "", "", "---\nLinkConfig\nname: eth0\naddresses: [{address: 192.0.2.7/24}]\n", []string{"eth1"}},
		{"a card with an MTU alone", "", "", "---\nLinkConfig\nname: eth0\nmtu: 9000\n", []string{"eth0", "eth1"}},
		{"a key about a card", "", "", "keys", []string{"eth0"}},
		{"each card is described", "", "", "---\nLinkConfig\nname: eth0\naddresses: [{address: 192.0.2.7/24}]\n---\nDHCPv4Config\nname: eth1\n", nil},
		{"a card carries a VLAN, the other is a port", "", "",
			"---\nVLANConfig\nname: v7\nvlanID: 7\nparent: eth0\n---\nBridgeConfig\nname: br0\nlinks: [eth1]\n", nil},
		{"by its alias", "", "", "---\nLinkAliasConfig\nname: net0\nselector: {match: 'mac(link.permanent_addr) == \"52:54:00:00:00:01\"'}\n" +
			"---\nDHCPv4Config\nname: net0\n", []string{"eth1"}},
		{"DHCP had ended before", "", "---\nDHCPv4Config\nname: eth0\n", "---\nDHCPv4Config\nname: eth1\n", nil},
		{"an argument of the kernel", "ip=eth1:dhcp ip=192.0.2.9:::24::eth0:none", "", "---\nDummyLinkConfig\nname: d0\n", nil},
		{"an ignored card", "talos.network.interface.ignore=eth1", "", "---\nDHCPv4Config\nname: eth0\n", nil},
	} {
		f := facts{names: []string{"eth0", "eth1", "eth2"}, links: []network.LinkStatusSpec{card(1, true), card(2, true), card(3, false)}}
		f.config = viewOf(t, tt.now)
		f.cmdline, f.mistake = parseArguments(cmdline.Parse(tt.args))

		if f.mistake != nil {
			t.Fatal(f.mistake)
		}

		if got := f.endsDHCP(viewOf(t, tt.next)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// viewOf returns a configuration of documents, or one of keys of the main document.
func viewOf(t *testing.T, text string) *view.Config {
	t.Helper()

	switch text {
	case "":
		text = plain
	case "keys":
		text = "version: v1alpha1\nmachine: {type: worker, network: {interfaces: [{interface: eth0, mtu: 1400}]}}\n"
	default:
		text = documents(text[len("---\n"):])
	}

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}
