// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// TestWorldFlags makes the worlds that create knows, as far as they can be wrong.
func TestWorldFlags(t *testing.T) {
	tests := []struct {
		args string
		want string // networks, and the cards of the machines
	}{
		{"", "lab 10.5.0.0/24; a lab 10.5.0.2; b lab 10.5.0.3"},
		{"--ipv6", "lab 10.5.0.0/24+v6; a lab 10.5.0.2; b lab 10.5.0.3"},
		{"--ipv6-only", "lab v6; a lab v6; b lab v6"},
		{"--cards 2", "lab 10.5.0.0/24, net-2 10.7.2.0/24; a lab 10.5.0.2, net-2 10.7.2.2; b lab 10.5.0.3, net-2 10.7.2.3"},
		{"--cards 2 --ipv6-only", "lab v6, net-2 v6; a lab v6, net-2 v6; b lab v6, net-2 v6"},
		{
			"--sites 2 --nat symmetric",
			"internet 203.0.113.0/24, site-1 10.6.1.0/24 behind symmetric, site-2 10.6.2.0/24 behind symmetric; a internet 203.0.113.2; b site-1 10.6.1.2",
		},
		{
			"--sites 1 --cards 2",
			"internet 203.0.113.0/24, net-2 10.7.2.0/24, site-1 10.6.1.0/24 behind port-restricted; " +
				"a internet 203.0.113.2, net-2 10.7.2.2; b site-1 10.6.1.2, net-2 10.7.2.3",
		},
	}

	for _, tt := range tests {
		var f worldFlags

		cmd := &cobra.Command{}
		f.flags(cmd)

		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}

		o := lab.Options{
			Name: "demo", StateDir: t.TempDir(), ControlPlanes: 1, Workers: 1, Provisioner: state.Container,
			Subnet: netip.MustParsePrefix("10.5.0.0/24"), Image: lab.Image{Root: t.TempDir()},
		}
		if err := f.apply(&o, &generate.Options{}); err != nil {
			t.Fatal(err)
		}

		s, err := o.Plan()
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)

			continue
		}

		if got := worldOf(s); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// worldOf writes a lab's world in a line.
func worldOf(s *state.Lab) string {
	subnet := func(v4, v6 interface {
		IsValid() bool
		String() string
	}) string {
		switch {
		case !v4.IsValid():
			return "v6"
		case v6.IsValid() && strings.Contains(v4.String(), "/"):
			return v4.String() + "+v6"
		}

		return v4.String()
	}

	var networks []string

	for _, n := range s.World.Networks {
		text := n.Name + " " + subnet(n.Subnet4, n.Subnet6)

		if r, ok := s.World.Router(n.Router); ok {
			leg, _ := r.Leg(world.Internet)
			text += " behind " + describeNAT(leg.NAT)
		}

		networks = append(networks, text)
	}

	all := []string{strings.Join(networks, ", ")}

	for i, n := range s.Nodes {
		var cards []string
		for _, c := range n.Cards {
			cards = append(cards, c.Network+" "+subnet(c.Addr4, c.Addr6))
		}

		all = append(all, string(rune('a'+i))+" "+strings.Join(cards, ", "))
	}

	return strings.Join(all, "; ")
}
