// SPDX-License-Identifier: Apache-2.0

// Package filesystem looks at the files of the nodes: lists, reads and copies them, and shows the space that they use.
package filesystem

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newCopyCommand(s),
		newDiskFreeCommand(s),
		newListCommand(s),
		newMountsCommand(s),
		newReadCommand(s),
		newUsageCommand(s),
	}
}
