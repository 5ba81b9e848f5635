// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/etcd"
)

// candidate calls Lead again and again, and reports when it leads and why it stops.
type candidate struct {
	began, ended chan struct{}
	cause        chan error
	resign       chan struct{}
}

func run(t *testing.T, ctx context.Context, client *clientv3.Client, leaders *atomic.Int32) *candidate {
	t.Helper()

	c := &candidate{
		began: make(chan struct{}, 100), ended: make(chan struct{}), cause: make(chan error, 100), resign: make(chan struct{}, 1),
	}

	go func() {
		defer close(c.ended)

		for ctx.Err() == nil {
			etcd.Lead(ctx, client, "/leader", func(ctx context.Context) error { // the loop tries again
				if n := leaders.Add(1); n > 1 {
					t.Errorf("%d leaders at the same time", n)
				}

				c.began <- struct{}{}

				select {
				case <-ctx.Done():
				case <-c.resign:
				}

				leaders.Add(-1)
				c.cause <- context.Cause(ctx)

				return nil
			}, etcd.WithLease(3*time.Second))
		}
	}()

	return c
}

func within[T any](t *testing.T, what string, limit time.Duration, ch <-chan T) (x T) {
	t.Helper()

	select {
	case x = <-ch:
	case <-time.After(limit):
		t.Fatalf("%s: not within %v", what, limit)
	}

	return x
}

// TestLead: one process leads at a time. When it resigns, ends or is cut off, the next one leads.
func TestLead(t *testing.T) {
	const patience = 30 * time.Second

	srv := ownServer(t, t.TempDir())
	way := newProxy(t, srv.endpoint())
	ctx, cancel := context.WithCancel(t.Context())

	var leaders atomic.Int32

	first := run(t, ctx, dialTo(t, way.endpoint()), &leaders)
	within(t, "the first leads", patience, first.began)

	direct := dialTo(t, srv.endpoint())
	second := run(t, ctx, direct, &leaders)

	select {
	case <-second.began:
		t.Fatal("the second process leads while the first one leads")
	case <-time.After(4 * time.Second): // longer than the lease
	}

	first.resign <- struct{}{}

	within(t, "the second leads after the first has resigned", patience, second.began)
	<-first.cause

	// The turn of the first comes next only if it has queued before the second does again.
	retry(t, func() error {
		queue, err := direct.Get(t.Context(), "/leader/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil && queue.Count < 2 {
			err = fmt.Errorf("got %d in the queue, want 2", queue.Count)
		}

		return err
	})

	second.resign <- struct{}{}

	within(t, "the first leads again", patience, first.began)
	<-second.cause

	go way.hang(20 * time.Second)

	if cause := within(t, "the end of the first leader, which is cut off", patience, first.cause); !errors.Is(cause, etcd.ErrNotLeading) {
		t.Errorf("the cause of its end is %v, want %v", cause, etcd.ErrNotLeading)
	}

	within(t, "the second leads after the first was cut off", patience, second.began)

	cancel()
	within(t, "the first ends", patience, first.ended)
	within(t, "the second ends", patience, second.ended)
}
