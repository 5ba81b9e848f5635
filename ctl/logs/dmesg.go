// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"

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
				return session.UsageError(cmd, "--tail leaves out what is already there, so it goes with --follow only")
			}

			if err := boot.check(cmd); err != nil {
				return err
			}

			out := session.NewLines(cmd.OutOrStdout())

			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				stream := n.Dmesg(boot.of(ctx), follow, tail)
				defer stream.Close()

				return out.Copy(n.Name, stream)
			})
		},
	})

	boot.flag(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with new messages")
	cmd.Flags().BoolVar(&tail, "tail", false, "with --follow: new messages only")

	return cmd
}
