// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrFenced is the error of a write that was not made, because its lock was lost.
var ErrFenced = errors.New("the lock was lost")

type fenceKey struct{}

// Fenced returns a context for writes to a Store that are made only while the lock is held. etcd checks that in the
// transaction of the write, so a process that was stopped and does not know yet that another one holds the lock changes
// nothing. Such a write fails with ErrFenced. Reads are not fenced.
func Fenced(ctx context.Context, lock *Lock) context.Context {
	return context.WithValue(ctx, fenceKey{}, lock)
}

// fenceOf returns the conditions for the writes of a context.
func fenceOf(ctx context.Context) (*Lock, []clientv3.Cmp) {
	lock, _ := ctx.Value(fenceKey{}).(*Lock)
	if lock == nil {
		return nil, nil
	}

	return lock, []clientv3.Cmp{lock.Held()}
}

// read reads the lock's place in the queue.
func (l *Lock) read() clientv3.Op { return clientv3.OpGet(l.key, clientv3.WithKeysOnly()) }

// isIn reports whether the answer to read says that the lock is held.
func (l *Lock) isIn(res *pb.ResponseOp) bool {
	kv := keyOf(res)

	return kv != nil && kv.CreateRevision == l.place
}
