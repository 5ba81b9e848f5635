// SPDX-License-Identifier: Apache-2.0

// Package imagecmd works on container images of the nodes: "talosctl image", and "talosctl debug", which runs one.
package imagecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root.
func Commands(s *session.Session) []*cobra.Command {
	return []*cobra.Command{
		newImageCommand(s),
		newDebugCommand(s),
	}
}
