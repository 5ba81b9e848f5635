// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newDmesgCommand(s *session.Session) *cobra.Command {
	var (
		boot         earlierBoot
		follow, tail bool
	)

	cmd := s.MaintenanceFlags(&cobra.Command{
		Use:   "dmesg",
		Short: "Print the kernel log",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tail && !follow {
				return session.UsageError(cmd, "--tail leaves out older messages, so it goes with --follow only")
			}

			return boot.print(s, cmd, func(ctx context.Context, n session.Node) io.ReadCloser { return n.Dmesg(ctx, follow, tail) })
		},
	})

	boot.flag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new messages")
	cmd.Flags().BoolVar(&tail, "tail", false, "with --follow: print new messages only")

	return cmd
}
