// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// DefaultLease is the longest time without a leader after a leader was cut off.
const DefaultLease = 15 * time.Second

// ErrNotLeading is the cause of a leader's context that ends because its lease is about to expire.
var ErrNotLeading = errors.New("the lease was not renewed in time")

// LeadOption is an option of Lead.
type LeadOption func(*leadership)

// WithLease sets the longest time without a leader after a leader was cut off: whole seconds, at least two.
func WithLease(d time.Duration) LeadOption { return func(l *leadership) { l.lease = d } }

// Lead runs fn in one process at a time, of all processes that call it with the same key. It waits for its turn, in the
// order of the calls, and returns the error of fn:
//
//	for ctx.Err() == nil {
//		err := etcd.Lead(ctx, client, "/cosi-leader", rt.Run)
//		log.Warn("not leading any more", "error", err)
//	}
//
// The key must be outside the prefix of a store. The context of fn ends with the cause ErrNotLeading when the lease could not
// be renewed for two thirds of its time. fn then has the last third to return before another process leads. Writes to a Store
// need no further fence, because each is a transaction on the version that it was decided on.
func Lead(ctx context.Context, client *clientv3.Client, key string, fn func(context.Context) error, opts ...LeadOption) error {
	l := &leadership{client: client, key: key, lease: DefaultLease}
	for _, opt := range opts {
		opt(l)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	asked := time.Now()

	grant, err := client.Grant(ctx, int64(l.lease/time.Second))
	if err != nil {
		return fmt.Errorf("lead %s: %w", key, err)
	}

	l.id = grant.ID
	defer l.revoke(ctx)

	// The time counts from before the request, so the lease lasts longer than that.
	limit := time.AfterFunc(time.Until(l.end(asked)), func() { cancel(ErrNotLeading) })
	defer limit.Stop()

	go l.renew(ctx, limit)

	if err := l.win(ctx); err != nil {
		return fmt.Errorf("lead %s: %w", key, errors.Join(err, context.Cause(ctx)))
	}

	return fn(ctx)
}

type leadership struct {
	client *clientv3.Client
	key    string
	lease  time.Duration
	id     clientv3.LeaseID
}

// end returns the time until which a lease requested at asked is relied on.
func (l *leadership) end(asked time.Time) time.Time { return asked.Add(l.lease * 2 / 3) }

// renew renews the lease until the context ends, and moves the limit.
func (l *leadership) renew(ctx context.Context, limit *time.Timer) {
	for ctx.Err() == nil {
		asked := time.Now()
		attempt, cancel := context.WithDeadline(ctx, l.end(asked))

		if _, err := l.client.KeepAliveOnce(attempt, l.id); err == nil && limit.Stop() {
			limit.Reset(time.Until(l.end(asked)))
		}

		cancel()

		select {
		case <-ctx.Done():
		case <-time.After(l.lease / 6):
		}
	}
}

// win puts this process into the queue, and waits until all processes before it have left.
func (l *leadership) win(ctx context.Context) error {
	own := fmt.Sprintf("%s/%x", l.key, l.id)

	// The client repeats an attempt whose answer was lost, though it may have succeeded.
	res, err := l.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(own), "=", 0)).
		Then(clientv3.OpPut(own, "", clientv3.WithLease(l.id))).
		Else(clientv3.OpGet(own)).Commit()
	if err != nil {
		return err
	}

	place := res.Header.Revision
	if !res.Succeeded {
		place = res.Responses[0].GetResponseRange().Kvs[0].CreateRevision
	}

	for {
		before, err := l.client.Get(ctx, l.key+"/", append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(place-1))...)
		if err != nil || len(before.Kvs) == 0 {
			return err
		}

		if err := l.deleted(ctx, string(before.Kvs[0].Key), before.Header.Revision+1); err != nil {
			return err
		}
	}
}

// deleted waits until the key is deleted at the revision or later, or the watch ends.
func (l *leadership) deleted(ctx context.Context, key string, revision int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	for res := range l.client.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithRev(revision)) {
		for _, ev := range res.Events {
			if ev.Type == mvccpb.DELETE {
				return nil
			}
		}
	}

	return ctx.Err()
}

// revoke lets the next process lead at once. If it fails, the lease expires.
func (l *leadership) revoke(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lease/3)
	defer cancel()

	l.client.Revoke(ctx, l.id)
}
