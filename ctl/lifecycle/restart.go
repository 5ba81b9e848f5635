// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newRestartCommand(s *session.Session) *cobra.Command {
	var namespace session.ContainerNamespace

	cmd := s.Flags(&cobra.Command{
		Use:   "restart CONTAINER",
		Short: "Restart a container; services have talosctl service ID restart",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				return n.RestartContainer(ctx, namespace.Name(), args[0])
			})
		},
		ValidArgsFunction: s.CompleteArg(0, func(n session.Node, ctx context.Context) ([]string, error) {
			return session.ContainerIDs(ctx, n, namespace.Name())
		}),
	})

	namespace.Flag(cmd, "a container of a Kubernetes pod")

	return cmd
}
