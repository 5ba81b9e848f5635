// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newReadCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "read PATH",
		Short: "Print a file of one node",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				stream := n.Read(ctx, args[0])
				defer stream.Close()

				_, err := io.Copy(cmd.OutOrStdout(), stream)

				return err
			})
		},
		ValidArgsFunction: completePath(s),
	})
}
