// SPDX-License-Identifier: Apache-2.0

// Package cluster turns the machines of a lab into a cluster: a configuration for each machine, applied through its API, one
// bootstrap, and the wait for Kubernetes. talosctl cluster create does it as a whole (Make), the end-to-end tests step by step.
//
// Package lab knows machines and networks, and not what runs on them; this package is a client of that.
package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
)

// Cluster is the machines of a lab on their way to a cluster.
type Cluster struct {
	Machines *lab.Lab
	Wait     Wait
	// Emulated machines are slow.
	Emulated bool
	// Alive, if set, is asked before each call of a machine and fails for one that is off.
	Alive func(context.Context, *lab.Node) error

	// Generated are the machines' configurations and the client's, and Context is the administrator's of the latter; see Generate.
	Generated   *generate.Output
	Context     *talosconfig.Context
	talosconfig *talosconfig.Config

	// At is the machine that is being dealt with, whose console tells more if that fails.
	At *lab.Node
}

// New returns the machines, to become a cluster.
func New(machines *lab.Lab, wait Wait) *Cluster {
	return &Cluster{Machines: machines, Wait: wait, At: machines.Node(0)}
}

// Emulated reports whether a lab's virtual machines have no help of the processor.
func Emulated(status *control.Status) bool { return status.Accel == (accel.Accel{}).Name() }

// ofRole returns the machines that are to be control planes, or workers.
func (c *Cluster) ofRole(role state.Role) []*lab.Node {
	return slices.DeleteFunc(slices.Clone(c.Machines.Nodes()), func(n *lab.Node) bool { return n.Role != role })
}

// alive fails when a machine is off.
func (c *Cluster) alive(ctx context.Context, n *lab.Node) error {
	if c.Alive == nil {
		return nil
	}

	return c.Alive(ctx, n)
}

// Alive fails for good when a machine is off: waiting for it has no end.
func Alive(ctx context.Context, n *lab.Node) error {
	status, err := n.Status(ctx)
	if err != nil {
		return FinalError{err}
	}

	if status.Machine.Power != machine.On {
		return FinalError{fmt.Errorf("the machine is off: %s", status.Machine.Why)}
	}

	return nil
}
