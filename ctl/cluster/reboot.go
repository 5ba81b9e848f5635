// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/state"
)

func newRebootCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "reboot [MACHINE...]",
		Short: "Reset machines, or start a cluster that is not running",
		Long: `Press the reset button of the machines, by default all; machines that are off are switched on. A cluster that does not run, after a
crash or a reboot of this computer, is started again with its disks. (talosctl reboot calls the API of the machine instead.)`,
		RunE: p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if condition := l.State().Condition(); condition != state.Running {
				if err := l.Start(cmd.Context()); err != nil {
					return err
				}

				fmt.Fprintf(cmd.OutOrStdout(), "cluster %s was %s, its machines are on again\n", p.name, condition)

				return nil
			}

			nodes := l.Nodes()
			if len(args) > 0 {
				nodes = nil
			}

			for _, name := range args {
				n, err := l.NodeByName(name)
				if err != nil {
					return err
				}

				nodes = append(nodes, n)
			}

			for _, n := range nodes {
				if err := reboot(cmd, n); err != nil {
					return err
				}
			}

			return nil
		}),
	}
}

func reboot(cmd *cobra.Command, n *lab.Node) error {
	status, err := n.Status(cmd.Context())
	if err != nil {
		return err
	}

	press, done := n.Reset, "reset"
	if status.Machine.Power == machine.Off {
		press, done = n.PowerOn, "switched on"
	}

	if err := press(cmd.Context()); err != nil {
		return err
	}

	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", n.Name, done)

	return nil
}
