// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newBootstrapCommand() *cobra.Command {
	var connection connection

	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Start a new cluster on one control plane node",
		Long: `Start etcd on one control plane node as the first member of a new cluster.

This is done once in a cluster's life, on one node; the other control plane nodes join by themselves.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.one(cmd, func(ctx context.Context, n node) error {
				return n.Bootstrap(ctx, &machine.BootstrapRequest{})
			})
		},
	}

	connection.flags(cmd)

	return cmd
}
