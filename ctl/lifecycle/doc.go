// SPDX-License-Identifier: Apache-2.0

// Package lifecycle starts, restarts and stops nodes: bootstrap, reboot, upgrade, reset.
//
// A command that takes a node down tracks it (tracking): it prints the events of the operation, and waits until the node is in the
// expected state.
package lifecycle

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newBootstrapCommand(s),
		newRebootCommand(s),
		newResetCommand(s),
		newRestartCommand(s),
		newRollbackCommand(s),
		newShutdownCommand(s),
		newUpgradeCommand(s),
		newWipeCommand(s),
	}
}
