// SPDX-License-Identifier: Apache-2.0

// Package observe shows what the nodes are doing: services, processes, containers, sockets, memory, disks, clocks and versions, and the
// health of the cluster.
package observe

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newContainersCommand(s),
		newDisksCommand(s),
		newHealthCommand(s),
		newMemoryCommand(s),
		newNetstatCommand(s),
		newProcessesCommand(s),
		newServiceCommand(s),
		newStatsCommand(s),
		newTimeCommand(s),
		newVersionCommand(s),
	}
}
