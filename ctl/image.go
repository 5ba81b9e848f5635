// SPDX-License-Identifier: Apache-2.0

package ctl

import "github.com/spf13/cobra"

func newImageCommand(s *Session) *cobra.Command {
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
