// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/lab/gateway"
)

// Port is the connection of a card, leg or gateway to a network.
type Port struct {
	Network string `json:"network"`
	// Name is unique in the network.
	Name string `json:"name"`
}

// CardPort returns the name of a machine's card on its network.
func CardPort(machine string, card int) string { return machine + "/" + strconv.Itoa(card) }

// Exact returns the name with which Find finds this port alone.
func (p Port) Exact() string {
	if strings.Contains(p.Name, "/") { // a machine's card
		return p.Name
	}

	return p.Name + "/" + p.Network
}

// owned is a port with the name of its machine, router or gateway, and the number of the card or leg.
type owned struct {
	Port
	owner, number string
}

func (w *World) owned(machines []Machine) []owned {
	var all []owned

	for _, m := range machines {
		for i, c := range m.Cards {
			all = append(all, owned{Port{c.Network, CardPort(m.Name, i)}, m.Name, strconv.Itoa(i)})
		}
	}

	for _, r := range w.Routers {
		for i, leg := range r.Legs {
			all = append(all, owned{Port{leg.Network, r.Name}, r.Name, strconv.Itoa(i)})
		}
	}

	for _, n := range w.Networks {
		all = append(all, owned{Port: Port{n.Name, gateway.PortName}, owner: gateway.PortName})
	}

	return all
}

// Ports returns all ports of a lab.
func (w *World) Ports(machines []Machine) []Port {
	return collect(w.owned(machines), func(p owned) Port { return p.Port })
}

// Find returns the ports of a name:
//
//	MACHINE, ROUTER or "gateway"      all cards or legs, the gateway on all networks
//	MACHINE/NUMBER                    one card, counted from 0
//	MACHINE/NETWORK, ROUTER/NETWORK   its cards or leg on that network
//	gateway/NETWORK                   the gateway there
//	NETWORK                           all ports of a network
func (w *World) Find(machines []Machine, name string) ([]Port, error) {
	owner, part, _ := strings.Cut(name, "/")

	var found []Port

	all := w.owned(machines)
	for _, p := range all {
		if name == p.Network || p.owner == owner && (part == "" || part == p.Network || part == p.number) {
			found = append(found, p.Port)
		}
	}

	if len(found) > 0 {
		return found, nil
	}

	if !slices.ContainsFunc(all, func(p owned) bool { return p.owner == owner }) {
		return nil, fmt.Errorf("the lab has no machine, router or network %q: %s", owner, known("name", w.Names(machines)))
	}

	var parts []string

	for _, p := range all {
		if p.owner == owner {
			parts = append(parts, owner+"/"+p.Network)
		}
	}

	return nil, fmt.Errorf("%s has no card %q: %s", owner, part, known("card", parts))
}

// Names returns all names that Find knows, without parts.
func (w *World) Names(machines []Machine) []string {
	names := collect(machines, func(m Machine) string { return m.Name })

	return slices.Concat(names, w.RouterNames(), w.NetworkNames(), []string{gateway.PortName})
}

// Paths returns the one-way paths from the ports of one name to those of another, on each network that has both.
func (w *World) Paths(machines []Machine, from, to string) ([]Path, error) {
	sources, err := w.Find(machines, from)
	if err != nil {
		return nil, err
	}

	targets, err := w.Find(machines, to)
	if err != nil {
		return nil, err
	}

	var paths []Path

	for _, s := range sources {
		for _, t := range targets {
			if s.Network == t.Network && s.Name != t.Name {
				paths = append(paths, Path{Network: s.Network, From: s.Name, To: t.Name})
			}
		}
	}

	if len(paths) == 0 {
		return nil, fmt.Errorf("%s and %s have no common network, so there is no path between them: name the routers between them", from, to)
	}

	return paths, nil
}

// Routed reports whether routers connect a network of one name with another network of the other. Cut paths on networks
// do not separate the two then.
func (w *World) Routed(machines []Machine, from, to string) bool {
	sources, _ := w.Find(machines, from) // without ports there is no connection
	targets, _ := w.Find(machines, to)

	for _, s := range sources {
		reached := w.reached(s.Network)
		for _, t := range targets {
			if s.Network != t.Network && reached[t.Network] {
				return true
			}
		}
	}

	return false
}

// reached returns the networks that routers connect with a network.
func (w *World) reached(network string) map[string]bool {
	reached := map[string]bool{network: true}

	for range w.Routers { // the longest chain has all routers
		for _, r := range w.Routers {
			if slices.ContainsFunc(r.Legs, func(l Leg) bool { return reached[l.Network] }) {
				for _, leg := range r.Legs {
					reached[leg.Network] = true
				}
			}
		}
	}

	return reached
}

// Path is a one-way path between two ports of a network.
type Path struct {
	Network  string
	From, To string
}
