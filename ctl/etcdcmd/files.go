// SPDX-License-Identifier: Apache-2.0

package etcdcmd

import (
	"context"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Files are those of this package in a support bundle.
func Files(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{
		session.TableFile("etcd-members.txt", memberColumns, func(n session.Node, ctx context.Context) ([]*machine.EtcdMember, error) {
			return n.EtcdMembers(ctx, false)
		}),
		session.TableFile("etcd-status.txt", etcdStatusColumns, session.Single(session.Node.EtcdStatus)),
	}, nil
}
