// SPDX-License-Identifier: Apache-2.0

// Package support is "talosctl support": what tells of the state of the nodes in one file, for someone who helps. Which files of a
// node are in it is said by the topics that they are of.
package support

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Commands are the commands of this package, for the root. The bundle has what the topics put in it.
func Commands(s *session.Session, contents ...session.BundleContents) []*cobra.Command {
	return []*cobra.Command{newSupportCommand(s, contents...)}
}
