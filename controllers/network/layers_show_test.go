// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// given returns the facts of a machine with the cards eth0, eth1 (of another driver) and a loopback.
func given(t *testing.T, args, interfaces string) facts {
	t.Helper()

	f := facts{
		config: view.Of(nil),
		links: []network.LinkStatusSpec{
			{Index: 2, Type: nethelpers.LinkTypeEther, HardwareAddr: []byte{0x52, 0x54, 0, 0, 0, 1}, Driver: "virtio_net", BusPath: "0000:00:03.0", PCIID: "1AF4:1000"},
			{Index: 3, AltNames: []string{"enp0s4"}, Type: nethelpers.LinkTypeEther, HardwareAddr: []byte{2, 0, 0, 0, 0, 9}, PermanentAddr: []byte{0x52, 0x54, 0, 0, 0, 2}, Driver: "e1000"},
			{Index: 1, Type: nethelpers.LinkTypeLoopback},
			{Index: 4, Type: nethelpers.LinkTypeEther, Kind: "veth"},
		},
		names: []string{"eth0", "eth1", "lo", "veth1"},
	}

	var err error
	if f.cmdline, err = parseArguments(cmdline.Parse(args)); err != nil {
		t.Fatal(err)
	}

	if interfaces == "" {
		return f
	}

	text := "version: v1alpha1\nmachine:\n  type: worker\n  network:\n    interfaces:\n"
	for line := range strings.Lines(strings.TrimPrefix(interfaces, "\n")) {
		text += "      " + line
	}

	f.configure(t, text)

	return f
}

// configure sets the configuration.
func (f *facts) configure(t *testing.T, text string) {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	f.config = view.Of(cfg)
}

// show prints a layer's specs, one a line, with the fields that differ from a plain spec.
func show(t *testing.T, f facts) string {
	t.Helper()

	var b strings.Builder

	links := linkLayers(f, nil)

	for _, s := range links {
		fmt.Fprintf(&b, "%s link %s", s.Layer, s.Name)

		for _, p := range []struct {
			when bool
			text string
		}{
			{!s.Up, "down"},
			{s.Logical, s.Kind},
			{s.MTU > 0, fmt.Sprintf("mtu %d", s.MTU)},
			{s.VLAN.VID > 0, fmt.Sprintf("vlan %d of %s", s.VLAN.VID, s.ParentName)},
			{s.MasterName() != "", "in " + s.MasterName()},
			{s.Kind == "bond", s.BondMaster.Mode.String()},
			{s.BridgeMaster.STP.Enabled, "stp"},
			{s.BridgeMaster.VLAN.FilteringEnabled, "filtering"},
			{s.VLAN.Protocol == 0x88a8, "802.1ad"},
			{s.VRFMaster.Table > 0, fmt.Sprintf("table %s", s.VRFMaster.Table)},
			{s.Veth.PeerName != "", "peer " + s.Veth.PeerName},
			{len(s.HardwareAddress) > 0, s.HardwareAddress.String()},
			{s.Multicast != nil, fmt.Sprintf("multicast %t", s.Multicast != nil && *s.Multicast)},
		} {
			if p.when {
				b.WriteString(" " + p.text)
			}
		}

		b.WriteByte('\n')
	}

	addresses := addressLayers(f, nil)

	for _, s := range addresses {
		if s.LinkName != "lo" {
			fmt.Fprintf(&b, "%s address %s", s.Layer, s.ID())

			if s.Priority > 0 {
				fmt.Fprintf(&b, " metric %d", s.Priority)
			}

			b.WriteByte('\n')
		}
	}

	routes := routeLayers(f, nil)

	for _, s := range routes {
		fmt.Fprintf(&b, "%s route %s dev %s scope %s", s.Layer, s.ID(), s.OutLinkName, s.Scope)

		if s.Type != nethelpers.TypeUnicast {
			b.WriteString(" " + s.Type.String())
		}

		b.WriteByte('\n')
	}

	rules := ruleLayers(f, nil)

	for _, s := range rules {
		fmt.Fprintf(&b, "%s rule %s %s\n", s.Layer, s.ID(), ruleOf(s))
	}

	operators := operatorLayers(f, nil)

	for _, s := range operators {
		if s.Operator == network.OperatorDHCP6 && s.Layer == network.LayerDefault && s.DHCP6.ClientIdentifier.DUIDRawHex == "" {
			continue // goes with the others: TestOperatorLayers
		}

		fmt.Fprintf(&b, "%s operator %s metric %d%s\n", s.Layer, s.ID(), s.DHCP4.RouteMetric+s.DHCP6.RouteMetric, s.DHCP6.ClientIdentifier.DUIDRawHex)
	}

	return b.String()
}
