// SPDX-License-Identifier: Apache-2.0

package state

import (
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/lab/world"
)

// OnlyNetwork is the name of the network of a lab with only one.
const OnlyNetwork = "lab"

// older is the state of a lab in the format without several networks.
type older struct {
	Name    string    `yaml:"name"`
	Created time.Time `yaml:"created"`
	Network struct {
		Subnet    netip.Prefix  `yaml:"subnet"`
		Gateway   netip.Addr    `yaml:"gateway"`
		MTU       uint16        `yaml:"mtu"`
		Domain    string        `yaml:"domain"`
		Offline   bool          `yaml:"offline"`
		LeaseTime time.Duration `yaml:"leaseTime"`
		Seed      uint64        `yaml:"seed"`
	} `yaml:"network"`
	Machine Machine `yaml:"machine"`
	Nodes   []struct {
		Node `yaml:",inline"`
		MAC  string `yaml:"mac"`
	} `yaml:"nodes"`
	Supervisor *Process `yaml:"supervisor,omitempty"`
}

// lab returns the lab of an older state.
func (o *older) lab(dir string) *Lab {
	n := o.Network
	l := &Lab{
		Dir: dir, Name: o.Name, Created: o.Created, Domain: n.Domain, LeaseTime: n.LeaseTime, Seed: n.Seed,
		World: world.World{Networks: []world.Network{
			{Name: OnlyNetwork, Subnet4: n.Subnet, Gateway4: n.Gateway, MTU: n.MTU, Offline: n.Offline},
		}},
		Machine: o.Machine, Supervisor: o.Supervisor,
	}

	for _, node := range o.Nodes {
		node.Cards = []world.Card{{Network: OnlyNetwork, MAC: node.MAC, Addr4: node.Addr}}
		l.Nodes = append(l.Nodes, node.Node)
	}

	return l
}
