// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newMetaCommand(s *session.Session) *cobra.Command {
	return session.Group("meta", "Write or delete keys of the META partition; talosctl get metakeys lists them",
		metaCommand(s, "write KEY VALUE", "Write a key of the META partition", 2,
			func(n session.Node, ctx context.Context, key uint8, args []string) error {
				return n.WriteMeta(ctx, key, []byte(args[1]))
			}),
		metaCommand(s, "delete KEY", "Delete a key of the META partition", 1,
			func(n session.Node, ctx context.Context, key uint8, _ []string) error { return n.DeleteMeta(ctx, key) }),
	)
}

func metaCommand(s *session.Session, use, short string, args int, act func(n session.Node, ctx context.Context, key uint8, args []string) error) *cobra.Command {
	return s.MaintenanceFlags(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := strconv.ParseUint(args[0], 0, 8)
			if err != nil {
				return session.UsageError(cmd, "%q is not a key: want a number from 0 to 255, such as 0x0a", args[0])
			}

			return s.Each(cmd, func(ctx context.Context, n session.Node) error { return act(n, ctx, uint8(key), args) })
		},
	})
}
