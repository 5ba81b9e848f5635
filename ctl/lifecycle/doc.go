// SPDX-License-Identifier: Apache-2.0

// Package lifecycle begins, restarts and ends nodes: bootstrap, reboot, upgrade, reset.
//
// A command that takes a node down follows it (tracking): it prints the events of what was begun and waits until the node is where it
// should be.
package lifecycle

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
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
