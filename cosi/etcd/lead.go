// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// LeadOption is an option of Lead.
type LeadOption = LockOption

// Lead is an election: it runs fn in one process at a time, of all processes that call it with the same key. It waits for its
// turn, in the order of the calls, and returns the error of fn:
//
//	for ctx.Err() == nil {
//		err := etcd.Lead(ctx, client, "/cosi-leader", rt.Run)
//		log.Warn("not leading any more", "error", err)
//	}
//
// The key must be outside the prefix of a store; it is that of a Lock, and Holder returns who leads. The context of fn ends with
// the cause ErrNotLeading when the lease could not be renewed for two thirds of its time. fn then has the last third to return
// before another process leads. Writes to a Store with the context of fn are fenced: they fail with ErrFenced when another process
// leads, even if fn does not know that yet.
func Lead(ctx context.Context, client *clientv3.Client, key string, fn func(context.Context) error, opts ...LeadOption) error {
	lock, err := Acquire(ctx, client, key, opts...)
	if err != nil {
		return err
	}

	defer lock.Release(ctx) // if it fails, the lock expires

	ctx, cancel := lock.Context(ctx)
	defer cancel()

	return fn(ctx)
}
