// SPDX-License-Identifier: Apache-2.0

// Package logs prints what the nodes have to say: logs of services and containers, the kernel's log, events.
package logs

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newDmesgCommand(s),
		newEventsCommand(s),
		newLogsCommand(s),
	}
}
