// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/lab/container"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/state"
)

// stopTime is the timeout of a supervisor's answer, and then of its end. A test shortens it.
var stopTime = 15 * time.Second

// Lab is a lab on this computer.
type Lab struct {
	state   *state.Lab
	control *control.Client
	nodes   []*Node
	// local is set while the lab runs in this process.
	local *local
	// options for the next Start.
	supervisor []string
}

// Open opens a lab by its directory, running or not. The supervisor command is needed only for Start.
func Open(dir string, supervisor ...string) (*Lab, error) {
	s, err := state.Load(dir)
	if err != nil {
		return nil, err
	}

	return newLab(s, supervisor), nil
}

func newLab(s *state.Lab, supervisor []string) *Lab {
	l := &Lab{state: s, supervisor: supervisor}
	l.control = control.NewClient(s.SocketPath(), l.running)

	for i := range s.Nodes {
		l.nodes = append(l.nodes, &Node{Node: s.Nodes[i], lab: l})
	}

	return l
}

// Name returns the lab's name.
func (l *Lab) Name() string { return l.state.Name }

// State describes the lab as it was when it was created, opened or started.
func (l *Lab) State() *state.Lab { return l.state }

// Nodes returns the lab's nodes, control planes first.
func (l *Lab) Nodes() []*Node { return l.nodes }

// Node returns a node by its place in Nodes.
func (l *Lab) Node(i int) *Node { return l.nodes[i] }

// KubernetesEndpoint returns the address on this computer of Kubernetes: of its load balancer, if there are several control planes.
func (l *Lab) KubernetesEndpoint() string {
	if l.state.KubernetesPort != 0 {
		return loopback(l.state.KubernetesPort)
	}

	return l.nodes[0].KubernetesEndpoint()
}

// NodeByName returns a node by its name or its address in the lab.
func (l *Lab) NodeByName(name string) (*Node, error) {
	for _, n := range l.nodes {
		if n.Name == name || n.Addr.String() == name {
			return n, nil
		}
	}

	return nil, fmt.Errorf("lab %s has no node %q", l.Name(), name)
}

// running returns an error with the reason for a lab that does not run.
func (l *Lab) running() error {
	s, err := state.Load(l.state.Dir)
	if err != nil {
		return err
	}

	if s.Condition() != state.Running {
		return errors.New(s.Explain())
	}

	return nil
}

// Status returns the status of the lab.
func (l *Lab) Status(ctx context.Context) (*control.Status, error) { return l.control.Status(ctx) }

// Stop cuts the power of all nodes and ends the supervisor. Start boots them again from their disks.
func (l *Lab) Stop(ctx context.Context) error {
	s, err := state.Load(l.state.Dir)
	if err != nil {
		return err
	}

	if s.Condition() == state.Running {
		limited, cancel := context.WithTimeout(ctx, stopTime)
		err = l.control.Stop(limited) // a supervisor that does not answer is killed below

		cancel()
	}

	if l.local != nil {
		if err != nil {
			l.local.stop()
		}

		err = <-l.local.ended
		l.local = nil

		return err
	}

	if s.Supervisor != nil && (err != nil || !s.Supervisor.WaitEnded(stopTime)) {
		if err := s.Supervisor.Kill(); err != nil {
			return fmt.Errorf("end the supervisor of lab %s: %w", l.Name(), err)
		}
	}

	// Machines end with their supervisor. Others are killed here.
	for _, n := range s.Nodes {
		if n.Process == nil {
			continue
		}

		if err := n.Process.Kill(); err != nil {
			return fmt.Errorf("end machine %s: %w", n.Name, err)
		}
	}

	// A container may have more processes than the first.
	if err := container.RemoveCgroups(s.Cgroups...); err != nil {
		return fmt.Errorf("end the containers of lab %s: %w", l.Name(), err)
	}

	return nil
}

// Destroy stops a lab in any condition, and removes its files.
func (l *Lab) Destroy(ctx context.Context) error {
	if err := l.Stop(ctx); err != nil {
		return fmt.Errorf("destroy lab %s: %w", l.Name(), err)
	}

	if err := container.RemoveFiles(l.state.NodesPath()); err != nil {
		return fmt.Errorf("destroy lab %s: %w", l.Name(), err)
	}

	return l.state.Remove()
}

func loopback(port uint16) string {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port).String()
}
