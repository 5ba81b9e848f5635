// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// world returns the world that the options describe, before Plan.
func (o *Options) world() world.World {
	w := world.World{Networks: slices.Clone(o.Networks), Routers: slices.Clone(o.Routers)}
	w.Add(o.Sites...)

	if len(w.Networks) == 0 {
		n := world.Network{Name: state.OnlyNetwork, Subnet4: o.Subnet, Subnet6: o.Subnet6, MTU: o.MTU}
		if !n.Subnet4.IsValid() && !n.Subnet6.IsValid() {
			n.Subnet4 = defaultSubnet
		}

		w.Networks = append(w.Networks, n)
	}

	for i := range w.Networks {
		w.Networks[i].MTU = cmp.Or(w.Networks[i].MTU, o.MTU)
		w.Networks[i].Offline = w.Networks[i].Offline || o.Offline
		w.Networks[i].Services.Cloud = cmp.Or(w.Networks[i].Services.Cloud, o.Cloud)
	}

	return w
}

// cards returns the cards of the i-th machine of a role.
func (o *Options) cards(w *world.World, role state.Role, i int, name string) []world.Card {
	if cards, ok := o.NodeCards[name]; ok {
		return slices.Clone(cards)
	}

	cards, network := o.ControlPlaneCards, w.Networks[0].Name

	if role == state.Worker {
		cards = o.WorkerCards

		if len(o.Sites) > 0 {
			network = o.Sites[i%len(o.Sites)].Name
		}
	}

	if len(cards) == 0 {
		cards = []world.Card{{Network: network}}
	}

	return slices.Concat(cards, o.ExtraCards)
}

// checkNodeCards returns an error for cards of machines that do not exist.
func (o *Options) checkNodeCards(l *state.Lab) error {
	var errs []error

	for name := range o.NodeCards {
		if !slices.ContainsFunc(l.Nodes, func(n state.Node) bool { return n.Name == name }) {
			errs = append(errs, fmt.Errorf("cards for node %q: there is no such node", name))
		}
	}

	return errors.Join(errs...)
}
