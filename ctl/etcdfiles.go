// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/seed-59268b81/talos/api/machine"
)

func etcdFiles(context.Context, Node) ([]BundleFile, error) {
	return []BundleFile{
		TableFile("etcd-members.txt", memberColumns, func(n Node, ctx context.Context) ([]*machine.EtcdMember, error) { return n.EtcdMembers(ctx, false) }),
		TableFile("etcd-status.txt", etcdStatusColumns, Single(Node.EtcdStatus)),
	}, nil
}
