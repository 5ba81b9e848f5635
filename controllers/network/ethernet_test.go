// SPDX-License-Identifier: Apache-2.0

package network

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/ethtool"
	"github.com/seed-59268b81/talos/sys/ethtool/ethtooltest"
)

const ethernetDocument = `version: v1alpha1
machine: {type: worker}
---
apiVersion: v1alpha1
kind: EthernetConfig
name: eth0
features: {tx-tcp-segmentation: false}
rings: {rx: 1024, tcp-data-split: true}
channels: {combined: 4}
wakeOnLan: [magic, phy]
`

func card() ethtool.Settings {
	off := uint32(0)

	return ethtool.Settings{
		Rings:    map[string]uint32{"rx": 256, "rx-max": 4096, "tx": 256, "tcp-data-split": ethtool.SplitOff},
		Channels: map[string]uint32{"combined": 1, "combined-max": 8},
		Features: map[string]bool{"tx-tcp-segmentation": true, "loopback": false}, Fixed: map[string]bool{"loopback": true}, Wake: &off,
		OurModes: []string{"1000baseT/Full", "Pause"}, PeerModes: []string{"100baseT/Full", "1000baseT/Full"},
	}
}

// TestEthernet sets up a card by a document, changes the document, removes it, and changes the card.
func TestEthernet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cards := &ethtooltest.Cards{}
		m := &machine{t: t, patience: patience, state: memory.New()}
		run(t, m.state, []controller.Controller{EthernetConfigController(), ethernetSpecController(cards), ethernetStatusController(cards)})

		condition := func(want network.SpecConditionSpec) {
			t.Helper()

			await(m, "", "ethernet/eth0", func(s network.SpecConditionSpec) bool { return s == want })
		}

		m.configure(ethernetDocument)
		condition(network.SpecConditionSpec{State: network.SpecWaiting, Cause: "link eth0 does not exist"})

		plug := func() {
			cards.Plug("eth0", card())

			if err := typed.Set(t.Context(), m.state, "", "eth0", network.LinkStatusSpec{Index: 2, Type: nethelpers.LinkTypeEther, SpeedMegabits: 1000, LinkState: true}); err != nil {
				t.Fatal(err)
			}
		}

		plug()
		condition(network.SpecConditionSpec{State: network.SpecApplied})

		value := func(n uint32) *uint32 { return &n }
		yes := true
		want := network.EthernetStatusSpec{
			LinkState: &yes, SpeedMegabits: 1000, OurModes: []string{"1000baseT/Full", "Pause"}, PeerModes: []string{"100baseT/Full", "1000baseT/Full"},
			Rings:     &network.EthernetRingsStatus{RX: value(1024), RXMax: value(4096), TX: value(256), TCPDataSplit: &yes},
			Features:  []network.EthernetFeatureStatus{{Name: "loopback", Status: "off [fixed]"}, {Name: "tx-tcp-segmentation", Status: "off"}},
			Channels:  &network.EthernetChannelsStatus{Combined: value(4), CombinedMax: value(8)},
			WakeOnLAN: []nethelpers.WOLMode{1, 32},
		}
		await(m, "", "eth0", func(s network.EthernetStatusSpec) bool { return cmp.Equal(s, want) })

		// Nothing changes, so nothing is set.
		sets := cards.Sets()
		time.Sleep(time.Hour)
		synctest.Wait()

		if got := cards.Sets(); got != sets {
			t.Errorf("quiet: got %d changes, want %d", got, sets)
		}

		// A setting that is not wanted any more becomes what it was; the others stay.
		m.configure("version: v1alpha1\nmachine: {type: worker}\n---\napiVersion: v1alpha1\nkind: EthernetConfig\nname: eth0\nrings: {rx: 512}\n")
		await(m, "", "eth0", func(s network.EthernetStatusSpec) bool {
			return *s.Rings.RX == 512 && !*s.Rings.TCPDataSplit && *s.Channels.Combined == 1 && s.Features[1].Status == "on" && len(s.WakeOnLAN) == 0
		})

		// What the driver refuses is said, and tried again.
		m.configure("version: v1alpha1\nmachine: {type: worker}\n---\napiVersion: v1alpha1\nkind: EthernetConfig\nname: eth0\nrings: {rx: 8192}\n")
		condition(network.SpecConditionSpec{State: network.SpecRefused, Cause: "set rings of link eth0: invalid argument"})

		m.configure("version: v1alpha1\nmachine: {type: worker}\n---\napiVersion: v1alpha1\nkind: EthernetConfig\nname: eth0\nfeatures: {loopback: true}\n")
		condition(network.SpecConditionSpec{State: network.SpecRefused, Cause: "the driver does not change features of link eth0: loopback"})

		m.configure("version: v1alpha1\nmachine: {type: worker}\n")
		awaitGone[network.SpecConditionSpec](m, "", "ethernet/eth0")
		await(m, "", "eth0", func(s network.EthernetStatusSpec) bool { return *s.Rings.RX == 256 })

		if s, err := cards.Read("eth0"); err != nil || !cmp.Equal(s, card()) {
			t.Errorf("got %+v, %v, want what it was", s, err)
		}
	})
}

func TestEthernetNames(t *testing.T) {
	// The names of fields in resources are those of ethtool: a field that is not is never set.
	for _, field := range []string{"rx", "rx-mini", "rx-jumbo", "tx", "rx-buf-len", "cqe-size", "tx-push", "rx-push", "tx-push-buf-len", tcpDataSplit} {
		status := network.EthernetRingsStatus{}
		fill(&status, map[string]uint32{field: 1})

		if cmp.Equal(status, network.EthernetRingsStatus{}) {
			t.Errorf("%s is not a field", field)
		}
	}

	n, on := uint32(7), true
	got := numbersOf(network.EthernetRingsSpec{RXJumbo: &n, TXPush: &on, TCPDataSplit: &on})

	if want := map[string]uint32{"rx-jumbo": 7, "tx-push": 1, "tcp-data-split": 2}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEthernetByAlias: a document means a card by an alternative name. When another card has it, that one gets the settings, and the first one has
// its own again.
func TestEthernetByAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cards := &ethtooltest.Cards{}
		m := &machine{t: t, patience: patience, state: memory.New()}
		run(t, m.state, []controller.Controller{EthernetConfigController(), ethernetSpecController(cards), ethernetStatusController(cards)})

		name := func(link string, index uint32, names ...string) {
			t.Helper()

			if err := typed.Set(t.Context(), m.state, "", link, network.LinkStatusSpec{Index: index, Type: nethelpers.LinkTypeEther, AltNames: names}); err != nil {
				t.Fatal(err)
			}
		}

		for _, link := range []string{"eth0", "eth1"} {
			cards.Plug(link, card())
		}

		rx := func(link string, want uint32) {
			t.Helper()

			await(m, "", link, func(s network.EthernetStatusSpec) bool { return s.Rings != nil && *s.Rings.RX == want })
		}

		name("eth0", 2, "net0")
		name("eth1", 3)
		m.configure(strings.Replace(ethernetDocument, "name: eth0", "name: net0", 1))
		rx("eth0", 1024)
		rx("eth1", 256)
		await(m, "", "ethernet/net0", func(s network.SpecConditionSpec) bool { return s.State == network.SpecApplied })

		name("eth0", 2)
		name("eth1", 3, "net0")
		rx("eth0", 256)
		rx("eth1", 1024)

		// Two documents about one card: the first one decides.
		m.configure(strings.Replace(ethernetDocument, "name: eth0", "name: net0", 1) + "---\napiVersion: v1alpha1\nkind: EthernetConfig\nname: eth1\nrings: {rx: 512}\n")
		await(m, "", "ethernet/net0", func(s network.SpecConditionSpec) bool { return s.State == network.SpecConflict })
		rx("eth1", 512)
	})
}
