// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/nat"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// SetLink sets the faults of the links of a name: all or one of a node or router, a gateway's, or all on a network
// (world.Find). The zero Link removes them.
func (l *Lab) SetLink(ctx context.Context, name string, link netswitch.Link) error {
	return l.control.SetLink(ctx, name, link)
}

// EditLink changes the current faults of each link of a name.
func (l *Lab) EditLink(ctx context.Context, name string, edit func(*netswitch.Link)) error {
	ports, err := l.state.World.Find(l.state.Machines(), name)
	if err != nil {
		return err
	}

	status, err := l.Status(ctx)
	if err != nil {
		return err
	}

	for _, link := range status.Links() {
		if !slices.Contains(ports, link.Port) {
			continue
		}

		edit(&link.Link)

		if err := l.control.SetLink(ctx, link.Port.Exact(), link.Link); err != nil {
			return err
		}
	}

	return nil
}

// SetPath sets the fault of the one-way path from one node to another, by their names, on each network that has both.
// Routers and the gateway (gateway.PortName) have paths as well.
func (l *Lab) SetPath(ctx context.Context, from, to string, i netswitch.Impairment) error {
	return l.control.SetPath(ctx, control.PathFault{Path: netswitch.Path{From: from, To: to}, Impairment: i})
}

// Partition cuts the paths between the nodes of different groups in both directions. Paths within a group, and those to
// the gateway, through which tests reach the nodes, do not change. Connections through routers stay: to separate sites,
// name their routers.
func (l *Lab) Partition(ctx context.Context, groups ...[]string) error {
	return l.between(ctx, groups, netswitch.Impairment{Cut: true})
}

// Join restores the paths that Partition cut.
func (l *Lab) Join(ctx context.Context, groups ...[]string) error {
	return l.between(ctx, groups, netswitch.Impairment{})
}

// between sets the paths between the nodes of different groups. If one path does not exist, it sets none.
func (l *Lab) between(ctx context.Context, groups [][]string, i netswitch.Impairment) error {
	var all []netswitch.Path

	for g, group := range groups {
		for o, other := range groups {
			if g == o {
				continue
			}

			for _, from := range group {
				for _, to := range other {
					if _, err := l.state.World.Paths(l.state.Machines(), from, to); err != nil {
						return err
					}

					all = append(all, netswitch.Path{From: from, To: to})
				}
			}
		}
	}

	for _, p := range all {
		if err := l.SetPath(ctx, p.From, p.To, i); err != nil {
			return err
		}
	}

	return nil
}

// EditServices changes the current behaviour of a network's services.
func (l *Lab) EditServices(ctx context.Context, network string, edit func(*world.Services)) error {
	status, err := l.Status(ctx)
	if err != nil {
		return err
	}

	for _, n := range status.Networks {
		if n.Name == network {
			edit(&n.Services)

			return l.control.SetServices(ctx, network, n.Services)
		}
	}

	return fmt.Errorf("lab %s has no network %q: it has %v", l.Name(), network, l.state.World.NetworkNames())
}

// SetNAT replaces the NAT of a router's leg. The new NAT has no mappings.
func (l *Lab) SetNAT(ctx context.Context, router string, config nat.Config) error {
	return l.EditRouter(ctx, router, func(s *world.Setting) { s.NAT = &config })
}

// EditRouter changes the current setting of a router's outer leg, the one with the NAT, or of the leg ROUTER/NETWORK.
func (l *Lab) EditRouter(ctx context.Context, name string, edit func(*world.Setting)) error {
	status, err := l.Status(ctx)
	if err != nil {
		return err
	}

	leg, err := outerLeg(status.Routers, name)
	if err != nil {
		return fmt.Errorf("lab %s: %w", l.Name(), err)
	}

	edit(&leg.Setting)

	return l.control.SetLeg(ctx, leg.Name, leg.Network, leg.Setting)
}

// outerLeg returns the leg of the name ROUTER or ROUTER/NETWORK.
func outerLeg(routers []control.RouterStatus, name string) (control.LegStatus, error) {
	router, network, named := strings.Cut(name, "/")

	var all, legs []string

	for _, r := range routers {
		all = append(all, r.Name)

		for _, leg := range r.Legs {
			switch {
			case r.Name != router:
			case named && leg.Network == network, !named && leg.NAT != nil:
				return leg, nil
			default:
				legs = append(legs, leg.Exact())
			}
		}
	}

	switch {
	case len(all) == 0:
		return control.LegStatus{}, fmt.Errorf("there is no router %q: the lab has no routers; cluster create --sites creates some", router)
	case len(legs) == 0:
		return control.LegStatus{}, fmt.Errorf("there is no router %q: there is %s", router, strings.Join(all, ", "))
	case named:
		return control.LegStatus{}, fmt.Errorf("router %s has no leg %q: it has %s", router, network, strings.Join(legs, ", "))
	}

	return control.LegStatus{}, fmt.Errorf("router %s has no NAT: name one of its legs: %s", router, strings.Join(legs, ", "))
}

// Heal removes all faults: disks, links, paths, services and routers are as they were created. Unplugged cards stay unplugged.
func (l *Lab) Heal(ctx context.Context) error {
	return l.control.Heal(ctx)
}

// HealOnly removes the faults of a name: those of its links, of paths from and to it, of a router and of a network's
// services.
func (l *Lab) HealOnly(ctx context.Context, name string) error {
	w := &l.state.World

	ports, err := w.Find(l.state.Machines(), name)
	if err != nil {
		return err
	}

	status, err := l.Status(ctx)
	if err != nil {
		return err
	}

	errs := []error{l.control.SetLink(ctx, name, netswitch.Link{})}

	for _, path := range status.Paths {
		if slices.Contains(ports, world.Port{Network: path.Network, Name: path.From}) || slices.Contains(ports, world.Port{Network: path.Network, Name: path.To}) {
			path.Impairment = netswitch.Impairment{}
			errs = append(errs, l.control.SetPath(ctx, path))
		}
	}

	for _, p := range ports {
		if r, ok := w.Router(p.Name); ok {
			leg, _ := r.Leg(p.Network)
			errs = append(errs, l.control.SetLeg(ctx, r.Name, leg.Network, leg.Setting))
		}
	}

	if n, ok := w.Network(name); ok {
		errs = append(errs, l.control.SetServices(ctx, name, n.Services))
	}

	return errors.Join(errs...)
}

// Capture writes the frames of the ports of names (world.Find) or, without names, all frames of the lab to w as a
// pcapng file, until ctx is done, which is not an error.
func (l *Lab) Capture(ctx context.Context, w io.Writer, names ...string) error {
	return l.control.Capture(ctx, names, w)
}

// Listen opens a TCP port for the machines of a network, at its gateway: a server of the caller is then one in the lab. Only a lab in this
// process can do that. The listeners, one for each address of the gateway, end with the lab.
func (l *Lab) Listen(network string, port uint16) ([]net.Listener, error) {
	if l.local == nil {
		return nil, fmt.Errorf("open port %d on network %s: lab %s runs in another process", port, network, l.Name())
	}

	return l.local.running.Listen(network, port)
}
