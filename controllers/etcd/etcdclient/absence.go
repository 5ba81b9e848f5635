// SPDX-License-Identifier: Apache-2.0

package etcdclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
)

const (
	// absences has a key for each member whose machine is about to go down. Two machines that are asked at once see each other's.
	absences = "talos:v1:etcd:absent/"
	// absenceTime is after how long a key expires. Before that the machine is down, and its member is not healthy; or it runs again, and
	// removes the key.
	absenceTime = 10 * time.Minute
)

// Life identifies this run of the machine. What it announces ends when the next one returns, and not before: a machine may be asked to go
// down as soon as its etcd is healthy.
var Life = rand.Text()

var errLockLost = errors.New("the lock of etcd's members was lost: try again")

func absence(member uint64) string { return absences + fmt.Sprintf("%016x", member) }

// Announce says that the machine of a member is about to go down in this life. It does nothing unless the lock of the members is held.
func Announce(ctx context.Context, client *clientv3.Client, held clientv3.Cmp, member uint64, life string) error {
	lease, err := client.Grant(ctx, int64(absenceTime/time.Second))
	if err == nil {
		var res *clientv3.TxnResponse

		res, err = client.Txn(ctx).If(held).Then(clientv3.OpPut(absence(member), life, clientv3.WithLease(lease.ID))).Commit()
		if err == nil && !res.Succeeded {
			err = errLockLost
		}
	}

	if err != nil {
		return fmt.Errorf("announce to etcd that the machine goes down: %w", err)
	}

	return nil
}

// Return says that the machine of a member is there again, in this life. It writes nothing if that is known.
func Return(ctx context.Context, client *clientv3.Client, member uint64, life string) error {
	key := absence(member)

	return forget(ctx, client, key, clientv3.Compare(clientv3.CreateRevision(key), ">", 0), clientv3.Compare(clientv3.Value(key), "!=", life))
}

// Stay takes back what was announced in this life: the machine does not go down.
func Stay(ctx context.Context, client *clientv3.Client, member uint64, life string) error {
	key := absence(member)

	return forget(ctx, client, key, clientv3.Compare(clientv3.Value(key), "=", life))
}

func forget(ctx context.Context, client *clientv3.Client, key string, conditions ...clientv3.Cmp) error {
	_, err := client.Txn(ctx).If(conditions...).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		return fmt.Errorf("say to etcd that the machine is there: %w", err)
	}

	return nil
}

// WithoutAbsent returns the cluster with the members whose machines are about to go down as not healthy.
func WithoutAbsent(ctx context.Context, client *clientv3.Client, cluster quorum.Cluster) (quorum.Cluster, error) {
	// An etcd that has lost its quorum since it was asked for its members answers late, and the client asks again many times.
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()

	list, err := client.Get(ctx, absences, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return cluster, fmt.Errorf("ask etcd which machines go down: %w", err)
	}

	gone := map[uint64]bool{}

	for _, kv := range list.Kvs {
		if id, err := strconv.ParseUint(strings.TrimPrefix(string(kv.Key), absences), 16, 64); err == nil {
			gone[id] = true
		}
	}

	members := make([]quorum.Member, 0, len(cluster.Members))

	for _, m := range cluster.Members {
		m.Healthy = m.Healthy && !gone[m.ID]
		members = append(members, m)
	}

	cluster.Members = members

	return cluster, nil
}
