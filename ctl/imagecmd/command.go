// SPDX-License-Identifier: Apache-2.0

// Package imagecmd works on container images of the nodes: "talosctl image", and "talosctl debug", which runs one.
package imagecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl image.
func Command(s *session.Session) *cobra.Command {
	cmd := session.Group("image", "Manage the container images of the nodes",
		newImageListCommand(s),
		newImagePullCommand(s),
		newImageRemoveCommand(s),
		newImageImportCommand(s),
		newImageVerifyCommand(s),
		newImageBundleCommand(s),
	)
	cmd.Aliases = []string{"images"}

	return cmd
}
