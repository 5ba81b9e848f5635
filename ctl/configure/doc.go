// SPDX-License-Identifier: Apache-2.0

// Package configure changes the machine configuration of the nodes, and the keys of their META partition.
package configure

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newApplyConfigCommand(s),
		newConfirmCommand(s),
		newEditCommand(s),
		newMetaCommand(s),
		newPatchCommand(s),
	}
}
