// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newEtcdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Look after etcd on control plane nodes",
	}

	cmd.AddCommand(
		newEtcdMembersCommand(),
		newEtcdMemberCommand(),
		newEtcdRemoveMemberCommand("remove-member"),
		newEtcdStatusCommand(),
		newEtcdSnapshotCommand(),
		newEtcdAlarmCommand(),
		newEtcdDowngradeCommand(),
		etcdAction("defrag", "Give the free space inside the database back; do it on one node at a time", node.EtcdDefragment),
		etcdAction("leave", "Take the nodes themselves out of etcd", node.EtcdLeave),
		newEtcdForfeitCommand(),
	)

	return cmd
}

// etcdAction is a command that has one node do something and says nothing if it did: done by several at once, etcd would
// be without a quorum.
func etcdAction(use, short string, act func(n node, ctx context.Context) error) *cobra.Command {
	var connection connection

	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.one(cmd, func(ctx context.Context, n node) error { return act(n, ctx) })
		},
	}

	connection.flags(cmd)

	return cmd
}

func newEtcdForfeitCommand() *cobra.Command {
	var connection connection

	cmd := &cobra.Command{
		Use:   "forfeit-leadership",
		Short: "Have another member lead etcd",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
				member, err := n.EtcdForfeitLeadership(ctx)
				if err != nil {
					return err
				}

				if member == "" {
					member = "the node did not lead, nothing was done"
				} else {
					member += " leads now"
				}

				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", n.name, member)

				return err
			})
		},
	}

	connection.flags(cmd)

	return cmd
}
