// SPDX-License-Identifier: Apache-2.0

package linkalias

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

func TestChoose(t *testing.T) {
	card := func(last byte, driver string) network.LinkStatusSpec {
		return network.LinkStatusSpec{Type: nethelpers.LinkTypeEther, HardwareAddr: []byte{0x52, 0x54, 0, 0, 0, last}, Driver: driver, SpeedMegabits: 1000}
	}

	links := map[string]network.LinkStatusSpec{
		"eth0": card(9, "e1000"), "eth1": card(2, "virtio_net"), "eth2": card(1, "virtio_net"),
		"lo": {Type: nethelpers.LinkTypeLoopback}, "veth7": {Type: nethelpers.LinkTypeEther, Kind: "veth", HardwareAddr: []byte{0x52, 0x54, 0, 0, 0, 7}},
	}

	for _, tt := range []struct {
		name, match string
		want        map[string]string
		condition   string
	}{
		{"net0", `mac(link.permanent_addr) == "52:54:00:00:00:02"`, map[string]string{"eth1": "net0"}, "applied "},
		{"net0", `link.driver == "e1000" && link.speed_megabits >= 1000`, map[string]string{"eth0": "net0"}, "applied "},
		{"net%d", `glob("52:54:*", mac(link.hardware_addr))`, map[string]string{"eth2": "net0", "eth1": "net1", "eth0": "net2"}, "applied "},
		{"net0", `link.driver == "virtio_net"`, map[string]string{}, "conflict eth2, eth1 match"},
		{"net0", `link.driver == "none"`, map[string]string{}, "waiting no network card"},
		{"net0", `link.driver ==`, map[string]string{}, "refused expression"},
		{"net0", `link.nothing == 7`, map[string]string{}, "refused expression"},
		{"net0", `link.driver == 7`, map[string]string{}, "refused expression"},
		{"net0", `link.mtu == 0u && link.index == 0 && !("x" in link.alt_names) && link.driver == "e1000"`, map[string]string{"eth0": "net0"}, "applied "},
		{"net0", `"text"`, map[string]string{}, "refused expression"},
	} {
		got, conditions := new(Chooser).Choose([]view.LinkAlias{{Name: tt.name, Match: tt.match}}, links)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.match, diff)
		}

		c := conditions[tt.name]
		if text := c.State.String() + " " + c.Cause; !strings.HasPrefix(text, tt.condition) {
			t.Errorf("%s: got %q, want %q", tt.match, text, tt.condition)
		}
	}
}

// TestChooseInOrder: a card has one second name, that of the first setting that selects it. Expressions are compiled once.
func TestChooseInOrder(t *testing.T) {
	links := map[string]network.LinkStatusSpec{
		"eth0": {Type: nethelpers.LinkTypeEther, HardwareAddr: []byte{1, 0, 0, 0, 0, 1}, Driver: "e1000"},
		"eth1": {Type: nethelpers.LinkTypeEther, HardwareAddr: []byte{1, 0, 0, 0, 0, 2}, Driver: "igb"},
	}
	settings := []view.LinkAlias{{Name: "slow", Match: `link.driver == "e1000"`}, {Name: "net%d", Match: "true"}}
	want := map[string]string{"eth0": "slow", "eth1": "net0"}

	var c Chooser

	for range 2 {
		if got, _ := c.Choose(settings, links); !cmp.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}

	if len(c.compiled) != 2 {
		t.Errorf("got %d compiled expressions, want 2", len(c.compiled))
	}

	if c.Choose(settings[1:], links); len(c.compiled) != 1 {
		t.Errorf("got %d compiled expressions, want 1", len(c.compiled))
	}
}

// TestExampleOfReference: the example that the reference and the JSON schema give is a valid expression.
func TestExampleOfReference(t *testing.T) {
	if _, err := compile(value.LinkExpression("").Format().Example); err != nil {
		t.Error(err)
	}
}
