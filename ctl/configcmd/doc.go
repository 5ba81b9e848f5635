// SPDX-License-Identifier: Apache-2.0

// Package configcmd is the part of talosctl that works on configurations and needs no machine: "config" edits the client's own
// file (only "config new" asks a node), "validate" checks machine configurations.
package configcmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{configCommand(s), validateCommand()}
}
