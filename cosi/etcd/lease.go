// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// DefaultLease is the longest time for which a lock stays held after its holder was cut off.
const DefaultLease = 15 * time.Second

// ErrNotLeading is the cause of the end of a lock, or of a leader's context, whose lease is about to expire or was revoked.
var ErrNotLeading = errors.New("the lease was not renewed in time")

// lease is a lease of etcd that is renewed until it is given up. Its context ends with the cause ErrNotLeading when the lease
// could not be renewed for two thirds of its time. The last third is for work to end in before etcd lets it expire.
type lease struct {
	client *clientv3.Client
	time   time.Duration
	id     clientv3.LeaseID

	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  *time.Timer
	done   chan struct{} // closed when it is not renewed any more
}

// newLease requests a lease and begins to renew it. The context is for the request only.
func newLease(ctx context.Context, client *clientv3.Client, d time.Duration) (*lease, error) {
	asked := time.Now()

	grant, err := client.Grant(ctx, int64(d/time.Second))
	if err != nil {
		return nil, fmt.Errorf("request a lease: %w", err)
	}

	l := &lease{client: client, time: d, id: grant.ID, done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))

	// The time counts from before the request, so the lease lasts longer than that.
	l.limit = time.AfterFunc(time.Until(l.end(asked)), func() { l.cancel(ErrNotLeading) })

	go l.renew()

	return l, nil
}

// end returns the time until which a lease requested at asked is relied on.
func (l *lease) end(asked time.Time) time.Time { return asked.Add(l.time * 2 / 3) }

// renew renews the lease until the context ends, and moves the limit.
func (l *lease) renew() {
	defer close(l.done)
	defer l.limit.Stop()

	pause := time.NewTicker(l.time / 6)
	defer pause.Stop()

	for {
		select {
		case <-l.ctx.Done():
			return
		case <-pause.C:
		}

		asked := time.Now()
		attempt, cancel := context.WithDeadline(l.ctx, l.end(asked))
		_, err := l.client.KeepAliveOnce(attempt, l.id)

		cancel()

		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound): // it has expired or was revoked
			l.cancel(ErrNotLeading)
		case err == nil && l.limit.Stop():
			l.limit.Reset(time.Until(l.end(asked)))
		}
	}
}

// giveUp stops renewing the lease and revokes it, so the next one does not wait until it expires.
func (l *lease) giveUp(ctx context.Context) error {
	l.cancel(context.Canceled)
	<-l.done

	_, err := l.client.Revoke(ctx, l.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}

	return err
}
