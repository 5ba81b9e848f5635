// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// SetLink sets the faults of the links of a name.
func (s *Supervisor) SetLink(name string, link netswitch.Link) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	ports, err := s.lab.World.Find(s.lab.Machines(), name)
	if err != nil {
		return err
	}

	for _, i := range []netswitch.Impairment{link.Out, link.In} {
		if err := i.Validate(); err != nil {
			return fmt.Errorf("link of %s: %w", name, err)
		}
	}

	s.log.Info("link", "name", name, "link", link)

	for _, p := range ports {
		s.networks[p.Network].sw.SetLink(p.Name, link)
	}

	return nil
}

// SetPath sets the fault of a one-way path, on its network or on all networks with both ends.
func (s *Supervisor) SetPath(fault control.PathFault) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	paths, err := s.lab.World.Paths(s.lab.Machines(), fault.From, fault.To)
	if err != nil {
		return err
	}

	if fault.Network != "" {
		paths = slices.DeleteFunc(paths, func(p world.Path) bool { return p.Network != fault.Network })
		if len(paths) == 0 {
			return fmt.Errorf("path from %s to %s: they are not both on network %q", fault.From, fault.To, fault.Network)
		}
	}

	if err := fault.Validate(); err != nil {
		return fmt.Errorf("path from %s to %s: %w", fault.From, fault.To, err)
	}

	s.log.Info("path", "from", fault.From, "to", fault.To, "impairment", fault.Impairment)

	for _, p := range paths {
		s.networks[p.Network].sw.SetPath(netswitch.Path{From: p.From, To: p.To}, fault.Impairment)
	}

	return nil
}

// SetLeg changes the setting of a router's leg.
func (s *Supervisor) SetLeg(name, network string, setting world.Setting) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	r, ok := s.routers[name]
	if !ok {
		return s.unknown("router", name)
	}

	if text, err := json.Marshal(setting); err == nil {
		s.log.Info("router", "name", name, "leg", network, "setting", string(text))
	}

	if err := r.Set(network, setting); err != nil {
		return fmt.Errorf("router %s: %w", name, err)
	}

	return nil
}

// Heal removes all faults: disks, links, paths, routers and services are as they were created. Unplugged cards stay unplugged.
func (s *Supervisor) Heal() error {
	errs := s.healDisks() // a machine that changes its status waits for mu

	s.mu.Lock()
	defer s.mu.Unlock()

	s.log.Info("all faults healed")

	for _, n := range s.networks {
		n.sw.Heal()
		errs = append(errs, s.setServices(n, n.Services))
	}

	for name, r := range s.routers {
		created, _ := s.lab.World.Router(name)
		for _, leg := range created.Legs {
			errs = append(errs, r.Set(leg.Network, leg.Setting))
		}
	}

	return errors.Join(errs...)
}
