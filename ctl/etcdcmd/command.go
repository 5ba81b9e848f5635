// SPDX-License-Identifier: Apache-2.0

// Package etcdcmd is "talosctl etcd": the members of etcd, their status and alarms, snapshots, downgrades.
package etcdcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Command returns talosctl etcd.
func Command(s *session.Session) *cobra.Command {
	return session.Group("etcd", "Manage etcd on control plane nodes",
		newEtcdMembersCommand(s),
		session.Group("member", "Change the members of etcd", newEtcdRemoveMemberCommand(s, "remove")),
		newEtcdRemoveMemberCommand(s, "remove-member"),
		newEtcdStatusCommand(s),
		newEtcdSnapshotCommand(s),
		newEtcdAlarmCommand(s),
		newEtcdDowngradeCommand(s),
		etcdAction(s, "defrag", "Release the free space of the database; do it on one node at a time", session.Node.EtcdDefragment),
		newEtcdLeaveCommand(s),
		newEtcdForfeitCommand(s),
	)
}

// etcdAction returns a command for one node, without output. On several nodes at once etcd could lose its quorum.
func etcdAction(s *session.Session, use, short string, act func(n session.Node, ctx context.Context) error) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error { return act(n, ctx) })
		},
	})
}

func newEtcdLeaveCommand(s *session.Session) *cobra.Command {
	cmd := etcdAction(s, "leave", "Have a node leave etcd", session.Node.EtcdLeave)
	cmd.Long = `Have a node leave etcd: its member is removed, and its data deleted.

The others must be a quorum without it. The node joins etcd again when it reboots, so shut it down, or make it a worker.`

	return cmd
}

func newEtcdForfeitCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "forfeit-leadership",
		Short: "Have another member lead etcd",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Each(cmd, func(ctx context.Context, n session.Node) error {
				member, err := n.EtcdForfeitLeadership(ctx)
				if err != nil {
					return err
				}

				if member == "" {
					member = "the node is not the leader, nothing was done"
				} else {
					member += " leads now"
				}

				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", n.Name, member)

				return err
			})
		},
	})
}
