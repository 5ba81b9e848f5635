// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"
)

func newRestartCommand(s *connection) *cobra.Command {
	var namespace namespace

	cmd := &cobra.Command{
		Use:   "restart CONTAINER",
		Short: "Restart a container; services have talosctl service ID restart",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.each(cmd, func(ctx context.Context, n node) error {
				return n.RestartContainer(ctx, namespace.name(), args[0])
			})
		},
		ValidArgsFunction: s.completeArg(0, func(n node, ctx context.Context) ([]string, error) {
			return n.containerIDs(ctx, namespace.name())
		}),
	}

	s.flags(cmd)
	namespace.flag(cmd, "a container of a Kubernetes pod")

	return cmd
}

func (n node) containerIDs(ctx context.Context, namespace string) ([]string, error) {
	containers, err := n.Containers(ctx, namespace)

	var ids []string
	for _, container := range containers {
		ids = append(ids, container.GetId())
	}

	return ids, err
}
