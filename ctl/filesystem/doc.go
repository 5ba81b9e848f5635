// SPDX-License-Identifier: Apache-2.0

// Package filesystem lists, reads and copies files of the nodes, and shows the space that they use.
package filesystem

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
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
