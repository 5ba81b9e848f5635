// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newImageCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "image",
		Aliases: []string{"images"},
		Short:   "Look after the container images of the nodes",
	}

	cmd.AddCommand(
		newImageListCommand(s),
		newImagePullCommand(s),
		newImageRemoveCommand(s),
		newImageImportCommand(s),
		newImageVerifyCommand(s),
		newImageBundleCommand(s),
	)

	return cmd
}
