// SPDX-License-Identifier: Apache-2.0

package etcdcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newEtcdDowngradeCommand(s *session.Session) *cobra.Command {
	return session.Group("downgrade", "Downgrade etcd's storage to an earlier version",
		etcdDowngradeCommand(s, "validate VERSION", "Check whether etcd's storage can be downgraded to a version, such as 3.5", 1, session.Node.EtcdDowngradeValidate),
		etcdDowngradeCommand(s, "enable VERSION", "Downgrade etcd's storage to a version, such as 3.5", 1, session.Node.EtcdDowngradeEnable),
		etcdDowngradeCommand(s, "cancel", "Cancel the downgrade", 0,
			func(n session.Node, ctx context.Context, _ string) (string, error) { return n.EtcdDowngradeCancel(ctx) }),
	)
}

func etcdDowngradeCommand(s *session.Session, use, short string, args int, call func(n session.Node, ctx context.Context, version string) (string, error)) *cobra.Command {
	return s.OutputFlag(s.Flags(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			columns := []session.Column[*machine.EtcdClusterDowngrade]{session.Col("CLUSTER VERSION", (*machine.EtcdClusterDowngrade).GetClusterVersion)}

			return session.List(s, cmd, columns, session.Single(func(n session.Node, ctx context.Context) (*machine.EtcdClusterDowngrade, error) {
				version, err := call(n, ctx, strings.Join(args, ""))

				return &machine.EtcdClusterDowngrade{ClusterVersion: version}, err
			}))
		},
	}))
}
