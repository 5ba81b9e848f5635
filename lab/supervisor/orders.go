// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
)

// Status tells how the lab is.
func (s *Supervisor) Status() control.Status {
	faults, traffic := s.sw.Faults(), s.sw.Stats()
	status := control.Status{
		Name: s.lab.Name, Containers: s.containers(),
		Gateway: faults.Links[gateway.PortName], Traffic: traffic[gateway.PortName],
	}

	if s.lab.Uses(state.QEMU) {
		status.Accel, status.AccelWhy = s.accel.Name(), s.accel.Why
	}

	for _, node := range s.lab.Nodes {
		status.Nodes = append(status.Nodes, control.NodeStatus{
			Name: node.Name, Machine: s.nodes[node.Name].Status(),
			Link: faults.Links[node.Name], Traffic: traffic[node.Name],
		})
	}

	for path, impairment := range faults.Paths {
		status.Paths = append(status.Paths, control.PathFault{Path: path, Impairment: impairment})
	}

	return status
}

// Power presses a node's power button.
func (s *Supervisor) Power(ctx context.Context, name string, action control.Action) error {
	m, ok := s.nodes[name]
	if !ok {
		return s.unknown(name)
	}

	switch action {
	case control.On:
		return m.On(ctx)
	case control.Off:
		return m.Off(ctx)
	case control.Reset:
		return m.Reset(ctx)
	case control.Cut:
		m.Cut()

		return nil
	}

	return fmt.Errorf("unknown power action %q: want %s, %s, %s or %s",
		action, control.On, control.Off, control.Cut, control.Reset)
}

// SetLink sets the faults of a link.
func (s *Supervisor) SetLink(name string, link netswitch.Link) error {
	if err := s.known(name); err != nil {
		return err
	}

	for _, i := range []netswitch.Impairment{link.Out, link.In} {
		if err := i.Validate(); err != nil {
			return fmt.Errorf("link of %s: %w", name, err)
		}
	}

	s.log.Info("link", "node", name, "link", link)
	s.sw.SetLink(name, link)

	return nil
}

// SetPath sets the fault of a one-way path.
func (s *Supervisor) SetPath(path netswitch.Path, impairment netswitch.Impairment) error {
	for _, name := range []string{path.From, path.To} {
		if err := s.known(name); err != nil {
			return err
		}
	}

	if err := impairment.Validate(); err != nil {
		return fmt.Errorf("path from %s to %s: %w", path.From, path.To, err)
	}

	s.log.Info("path", "from", path.From, "to", path.To, "impairment", impairment)
	s.sw.SetPath(path, impairment)

	return nil
}

// Heal takes all faults away.
func (s *Supervisor) Heal() {
	s.log.Info("all faults healed")
	s.sw.Heal()
}

// Stop ends the lab.
func (s *Supervisor) Stop() {
	s.log.Info("told to stop")
	s.stop()
}

func (s *Supervisor) known(name string) error {
	if _, ok := s.nodes[name]; !ok && name != gateway.PortName {
		return s.unknown(name)
	}

	return nil
}

func (s *Supervisor) unknown(name string) error {
	return fmt.Errorf("lab %s has no node %q", s.lab.Name, name)
}
