// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// LockedError is the error of a process that did not wait any longer for a lock.
type LockedError struct {
	Key string
	// Holder is the name of the process that held the lock, "" if it has none or is not known.
	Holder string
	// Err is why the process did not wait any longer.
	Err error
}

// Error implements error.
func (e *LockedError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}

	return fmt.Sprintf("lock %s: %s holds it: %v", e.Key, holder, e.Err)
}

// Unwrap returns the cause.
func (e *LockedError) Unwrap() error { return e.Err }

// queue has the processes that hold a lock or wait for it: each has a key key/lease with the name of the process, and the oldest
// one holds the lock. The key disappears with its lease.
type queue struct {
	client *clientv3.Client
	key    string
	lock   *Lock

	behind bool   // whether this process has found another one before it
	holder string // the last one seen
}

// wait puts this process into the queue, and waits until all processes before it have left. Errors of etcd do not end it: the
// process would lose its place. It ends with the context, and so with the lease.
func (q *queue) wait(ctx context.Context, name string) error {
	if err := q.enter(ctx, name); err != nil {
		return err
	}

	for {
		before, err := q.first(ctx)
		if err == nil && before == nil {
			return nil
		}

		if err == nil {
			err = q.gone(ctx, string(before.key), before.revision+1)
		}

		if err == nil {
			continue
		}

		select {
		case <-ctx.Done():
			return err
		case <-time.After(q.lock.lease.time / 30):
		}
	}
}

// enter puts this process into the queue.
func (q *queue) enter(ctx context.Context, name string) error {
	own := q.lock.key

	// The client repeats an attempt whose answer was lost, though it may have succeeded.
	res, err := q.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(own), "=", 0)).
		Then(clientv3.OpPut(own, name, clientv3.WithLease(q.lock.lease.id))).
		Else(clientv3.OpGet(own)).Commit()
	if err != nil {
		return err
	}

	q.lock.place = res.Header.Revision
	if !res.Succeeded {
		q.lock.place = res.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}

	return nil
}

// waiter is a key of the queue, as of a revision.
type waiter struct {
	key      []byte
	revision int64
}

// first returns the process that is directly before this one, nil if this one holds the lock. An own key that is gone is an
// error: the lease has expired.
func (q *queue) first(ctx context.Context) (*waiter, error) {
	older := clientv3.WithMaxCreateRev(q.lock.place - 1)
	last, first := append(clientv3.WithLastCreate(), older), append(clientv3.WithFirstCreate(), older)

	res, err := q.client.Txn(ctx).If(q.lock.Held()).
		Then(clientv3.OpGet(q.key+"/", last...), clientv3.OpGet(q.key+"/", first...)).Commit()
	if err != nil {
		return nil, err
	}

	if !res.Succeeded {
		q.lock.lease.cancel(ErrNotLeading)

		return nil, ErrNotLeading
	}

	before, holder := keyOf(res.Responses[0]), keyOf(res.Responses[1])
	if before == nil {
		return nil, nil
	}

	q.behind, q.holder = true, string(holder.Value)

	return &waiter{before.Key, res.Header.Revision}, nil
}

// keyOf returns the one key of an answer, nil if there is none.
func keyOf(res *pb.ResponseOp) *mvccpb.KeyValue {
	if kvs := res.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}

	return nil
}

// gone waits until the key is deleted at the revision or later, or the watch ends.
func (q *queue) gone(ctx context.Context, key string, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	for res := range q.client.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithRev(revision), clientv3.WithFilterPut()) {
		for _, ev := range res.Events {
			if ev.Type == mvccpb.DELETE {
				return nil
			}
		}

		if err := res.Err(); err != nil {
			return err
		}
	}

	return ctx.Err()
}

// explain returns the error of a process that waits no longer. Who holds the lock may have changed since it entered the queue.
func (q *queue) explain(ctx context.Context, err error) error {
	if !q.behind || ctx.Err() == nil {
		return fmt.Errorf("lock %s: %w", q.key, err)
	}

	const patience = time.Second

	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()

	if holder, err := Holder(short, q.client, q.key); err == nil {
		q.holder = holder
	}

	return &LockedError{Key: q.key, Holder: q.holder, Err: context.Cause(ctx)}
}

// ErrNotHeld is the error of Holder when no one holds the lock.
var ErrNotHeld = errors.New("no one holds the lock")

// Holder returns the name of the process that holds the lock, or leads.
func Holder(ctx context.Context, client *clientv3.Client, key string) (string, error) {
	res, err := client.Get(ctx, key+"/", clientv3.WithFirstCreate()...)
	if err != nil {
		return "", fmt.Errorf("read lock %s: %w", key, err)
	}

	if len(res.Kvs) == 0 {
		return "", ErrNotHeld
	}

	return string(res.Kvs[0].Value), nil
}
