// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/seed-59268b81/talos/lab/console"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
)

// Node is a machine of a lab.
type Node struct {
	// Node describes it: name, role, address in the lab, size.
	state.Node
	lab *Lab
}

// APIEndpoint returns the address on this computer of its port 50000.
func (n *Node) APIEndpoint() string { return loopback(n.APIPort) }

// KubernetesEndpoint returns the address on this computer of its port 6443.
func (n *Node) KubernetesEndpoint() string { return loopback(n.KubernetesPort) }

// ConsolePath returns the log of the serial console since the latest boot. That of the boot before is at ConsolePath +
// ".1", and so on.
func (n *Node) ConsolePath() string { return n.lab.state.ConsolePath(n.Name) }

// Status returns the status of the machine.
func (n *Node) Status(ctx context.Context) (*control.NodeStatus, error) {
	lab, err := n.lab.Status(ctx)
	if err != nil {
		return nil, err
	}

	i := slices.IndexFunc(lab.Nodes, func(s control.NodeStatus) bool { return s.Name == n.Name })
	if i < 0 {
		return nil, fmt.Errorf("the running lab %s has no node %s", lab.Name, n.Name)
	}

	return &lab.Nodes[i], nil
}

// PowerOn switches the machine on.
func (n *Node) PowerOn(ctx context.Context) error { return n.power(ctx, control.On) }

// PowerOff asks the guest to power off and waits until it has or ctx is done.
func (n *Node) PowerOff(ctx context.Context) error { return n.power(ctx, control.Off) }

// PowerCut cuts the power. Data that the guest had not flushed to its disk is lost.
func (n *Node) PowerCut(ctx context.Context) error { return n.power(ctx, control.Cut) }

// Reset presses the reset button.
func (n *Node) Reset(ctx context.Context) error { return n.power(ctx, control.Reset) }

// Pause stops the machine's processors, while its clock and the world go on.
func (n *Node) Pause(ctx context.Context) error { return n.power(ctx, control.Pause) }

// Resume ends a pause.
func (n *Node) Resume(ctx context.Context) error { return n.power(ctx, control.Resume) }

// Wipe replaces the disks of a machine that is off with those that it was created with.
func (n *Node) Wipe(ctx context.Context) error { return n.power(ctx, control.Wipe) }

// Do does an action to the machine.
func (n *Node) Do(ctx context.Context, action control.Action) error { return n.power(ctx, action) }

func (n *Node) power(ctx context.Context, action control.Action) error {
	return n.lab.control.Power(ctx, n.Name, action)
}

// SetDisk sets how the machine's disks behave, until it is switched off or started again. The zero Disk is a good one.
func (n *Node) SetDisk(ctx context.Context, disk machine.Disk) error {
	return n.lab.control.SetDisk(ctx, n.Name, disk)
}

// SetLink sets the faults of the links of all the machine's cards. The zero Link removes them.
func (n *Node) SetLink(ctx context.Context, link netswitch.Link) error {
	return n.lab.SetLink(ctx, n.Name, link)
}

// Plug plugs a network card into the machine. A machine that is off has it when it is switched on.
func (n *Node) Plug(ctx context.Context, card int) error {
	return n.lab.control.SetCard(ctx, n.Name, card, false)
}

// Unplug unplugs a network card of the machine, as soon as its kernel has released it.
func (n *Node) Unplug(ctx context.Context, card int) error {
	return n.lab.control.SetCard(ctx, n.Name, card, true)
}

// Consoles returns the paths of all console logs, the latest boot's first.
func (n *Node) Consoles() []string {
	paths := []string{n.ConsolePath()}

	for {
		next := fmt.Sprintf("%s.%d", n.ConsolePath(), len(paths))
		if _, err := os.Stat(next); err != nil {
			return paths
		}

		paths = append(paths, next)
	}
}

// Findings returns the signs of faults on all console logs, each with its file.
func (n *Node) Findings() ([]string, error) {
	var found []string

	for _, path := range n.Consoles() {
		file, err := os.Open(path)
		if os.IsNotExist(err) {
			continue // never switched on
		}

		if err != nil {
			return nil, fmt.Errorf("console of %s: %w", n.Name, err)
		}

		signs, err := console.Scan(file)
		_ = file.Close()

		if err != nil {
			return nil, fmt.Errorf("console of %s: %w", n.Name, err)
		}

		for _, s := range signs {
			found = append(found, path+": "+s.String())
		}
	}

	return found, nil
}
