// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/spf13/cobra"

// Command returns the command "cluster" with its subcommands.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Run clusters of virtual machines or containers on this computer",
		Long: `Run clusters of virtual machines or containers on this computer.

Root is not needed; without it, containers need subordinate ids and a delegated cgroup. The network of the machines exists only inside
a process of your own. Ports of 127.0.0.1 lead to the APIs of the machines and of Kubernetes.`,
	}

	var p place

	p.flags(cmd)
	cmd.AddCommand(
		newCreateCommand(&p),
		newDestroyCommand(&p),
		newShowCommand(&p),
		newLogsCommand(&p),
		newRebootCommand(&p),
		newPowerCommand(&p),
		newNetCommand(&p),
		newRunLabCommand(),
	)

	return cmd
}
