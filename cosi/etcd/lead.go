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

// DefaultLease is how long nobody leads, at most, after a leader was cut off.
const DefaultLease = 15 * time.Second

// ErrNotLeading is the cause of the end of a leader's context when it may not be the leader much longer.
var ErrNotLeading = errors.New("the lease was not renewed in time")

// LeadOption is an option of Lead.
type LeadOption func(*leadership)

// WithLease sets how long nobody leads, at most, after a leader was cut off: whole seconds, two at least.
func WithLease(d time.Duration) LeadOption { return func(l *leadership) { l.lease = d } }

// Lead runs fn in one process at a time, of all that call it with the same key. It waits for its turn, in the order of the
// calls, and returns what fn returns:
//
//	for ctx.Err() == nil {
//		err := etcd.Lead(ctx, client, "/cosi-leader", rt.Run)
//		log.Warn("not leading any more", "error", err)
//	}
//
// The key is outside the prefix of a store. The context of fn ends with the cause ErrNotLeading when the lease could not be
// renewed for two thirds of its time: fn has the last third to end before another leads. Writes need no fence beyond that if
// they go to a Store, since each is a transaction on what it was decided on.
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

	// The time counts from before the request: the lease lasts longer.
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

// end is when a lease that was asked for at a time is no longer relied on.
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

// win queues this process up, and waits until all before it have gone.
func (l *leadership) win(ctx context.Context) error {
	own := fmt.Sprintf("%s/%x", l.key, l.id)

	// An attempt of which the answer was lost may have succeeded, and the client tries again.
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

// deleted waits until the key is deleted at the revision or later, or that can not be told.
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

// revoke lets the next one lead at once. If it does not succeed, the lease runs out.
func (l *leadership) revoke(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lease/3)
	defer cancel()

	l.client.Revoke(ctx, l.id)
}
