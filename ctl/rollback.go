// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"
)

func newRollbackCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Reboot the nodes into the version that they had before",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Each(cmd, func(ctx context.Context, n Node) error { return n.Rollback(ctx) })
		},
	}

	s.Flags(cmd)

	return cmd
}
