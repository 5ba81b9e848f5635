// SPDX-License-Identifier: Apache-2.0

// Package logs prints logs of services and containers, the kernel log and events.
package logs

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newDmesgCommand(s),
		newEventsCommand(s),
		newLogsCommand(s),
	}
}
