// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/filesystem/unpack"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newCopyCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:     "copy PATH DIRECTORY|-",
		Aliases: []string{"cp"},
		Short:   "Copy files from one node",
		Long: `Copy a file or a tree from one node into a directory. The directory is created if it does not exist.

With - in place of the directory, write a tar.gz archive to standard output.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				stream := n.Copy(ctx, args[0])
				defer stream.Close()

				if args[1] == "-" {
					_, err := io.Copy(cmd.OutOrStdout(), stream)

					return err
				}

				return unpack.Into(args[1], stream)
			})
		},
		ValidArgsFunction: completePath(s),
	})
}
