// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newRollbackCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "rollback",
		Short: "Reboot the nodes into the version that they had before",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return n.Rollback(ctx) })
		},
	})
}
