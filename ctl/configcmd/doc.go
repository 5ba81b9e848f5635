// SPDX-License-Identifier: Apache-2.0

// Package configcmd is "talosctl config", which edits the client configuration, and "talosctl validate", which checks machine
// configurations. Only "config new" talks to a node.
package configcmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{configCommand(s), validateCommand()}
}
