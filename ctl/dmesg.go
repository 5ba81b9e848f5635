// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"
)

func newDmesgCommand(s *connection) *cobra.Command {
	var (
		boot         earlierBoot
		follow, tail bool
	)

	cmd := &cobra.Command{
		Use:   "dmesg",
		Short: "Print the kernel log",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tail && !follow {
				return usageError(cmd, "--tail leaves out what is already there, so it goes with --follow only")
			}

			if err := boot.check(cmd); err != nil {
				return err
			}

			out := &lines{w: cmd.OutOrStdout()}

			return s.each(cmd, func(ctx context.Context, n node) error {
				stream := n.Dmesg(boot.of(ctx), follow, tail)
				defer stream.Close()

				return out.copy(n.name, stream)
			})
		},
	}

	s.flags(cmd)
	s.maintenanceFlags(cmd)
	boot.flag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with new messages")
	cmd.Flags().BoolVar(&tail, "tail", false, "with --follow: new messages only")

	return cmd
}
