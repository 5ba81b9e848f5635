// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/controllers/clusterstate"
)

// Lock is held while the members of etcd change.
type Lock interface {
	// Lost is closed when another machine may have the lock.
	Lost() <-chan struct{}
	Release(ctx context.Context) error
}

// claimMembers takes the lock under which members change, or fails when ctx ends before.
func claimMembers(ctx context.Context, client *clientv3.Client, holder string) (Lock, error) {
	held, err := clusterstate.Claim(ctx, client, clusterstate.EtcdMembers, holder)
	if err != nil {
		return nil, err
	}

	return held, nil
}
