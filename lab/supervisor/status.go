// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"cmp"
	"slices"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// Status returns the status of the lab.
func (s *Supervisor) Status() control.Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	status := control.Status{Name: s.lab.Name, Containers: s.containers()}
	if s.lab.Uses(state.QEMU) {
		status.Accel, status.AccelWhy = s.accel.Name(), s.accel.Why
	}

	faults, traffic := map[string]*netswitch.Faults{}, map[string]map[string]netswitch.Stats{}

	for name, n := range s.networks {
		faults[name], traffic[name] = n.sw.Faults(), n.sw.Stats()

		for path, impairment := range faults[name].Paths {
			status.Paths = append(status.Paths, control.PathFault{Network: name, Path: path, Impairment: impairment})
		}
	}

	slices.SortFunc(status.Paths, func(a, b control.PathFault) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})

	link := func(p world.Port) control.LinkStatus {
		return control.LinkStatus{Port: p, Link: faults[p.Network].Links[p.Name], Traffic: traffic[p.Network][p.Name]}
	}

	for _, node := range s.lab.Nodes {
		n := control.NodeStatus{Name: node.Name, Machine: s.nodes[node.Name].Status()}

		for i, card := range node.Cards {
			n.Cards = append(n.Cards, control.CardStatus{
				LinkStatus: link(world.Port{Network: card.Network, Name: world.CardPort(node.Name, i)}), Unplugged: card.Unplugged,
			})
		}

		status.Nodes = append(status.Nodes, n)
	}

	for _, n := range s.lab.World.Networks {
		status.Networks = append(status.Networks, control.NetworkStatus{
			Name: n.Name, Services: s.networks[n.Name].services, Gateway: link(world.Port{Network: n.Name, Name: gateway.PortName}),
		})
	}

	for _, r := range s.lab.World.Routers {
		router := control.RouterStatus{Name: r.Name}

		for _, leg := range r.Legs {
			router.Legs = append(router.Legs, control.LegStatus{
				LinkStatus: link(world.Port{Network: leg.Network, Name: r.Name}), Setting: s.routers[r.Name].Setting(leg.Network),
			})
		}

		status.Routers = append(status.Routers, router)
	}

	return status
}
