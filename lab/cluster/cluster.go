// SPDX-License-Identifier: Apache-2.0

// Package cluster makes the machines of a lab a cluster: it applies a configuration to each machine through its API,
// bootstraps etcd, and waits for Kubernetes. talosctl cluster create does it as a whole (Make), the end-to-end tests
// step by step.
//
// Package lab only knows machines and networks; this package is a client of what runs on them.
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

// Cluster is the machines of a lab that become a cluster.
type Cluster struct {
	Machines *lab.Lab
	Wait     Wait
	// Emulated machines are slow.
	Emulated bool
	// Alive, if set, is called before each call of a machine, and fails if the machine is off.
	Alive func(context.Context, *lab.Node) error

	// Generated are the machines' configurations and the talosconfig, and Context is the administrator's in it; see
	// Generate.
	Generated   *generate.Output
	Context     *talosconfig.Context
	talosconfig *talosconfig.Config
	// warned are the warnings about configurations that were said.
	warned []string

	// At is the machine of the current step, whose console explains a failure.
	At *lab.Node
}

// New returns the machines of a lab, to make them a cluster.
func New(machines *lab.Lab, wait Wait) *Cluster {
	return &Cluster{Machines: machines, Wait: wait, At: machines.Node(0)}
}

// Emulated reports whether a lab's virtual machines have no hardware virtualization.
func Emulated(status *control.Status) bool { return status.Accel == (accel.Accel{}).Name() }

// ofRole returns the machines of a role.
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

// Alive returns a FinalError when a machine is off: waiting for it would not help.
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
