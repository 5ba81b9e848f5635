// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
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

// TestLeadFences: the controllers of a runtime that leads write with the fence. When another process may lead, their writes are
// refused, though the runtime does not know it yet.
func TestLeadFences(t *testing.T) {
	srv := ownServer(t, t.TempDir())
	client := dialTo(t, srv.endpoint())
	st := openAt(t, client, "/led")

	refused := make(chan error, 1)

	rt := runtime.New(st, slog.New(slog.DiscardHandler))
	ok(t, rt.RegisterController(&controller.Reconciler{
		ControllerName: "CopyController",
		Reads:          []controller.Input{controller.In[BookSpec](controller.Weak, "", "book")},
		Writes:         []controller.Output{controller.Out[copySpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var book BookSpec
			if f := typed.Read(ctx, rt, "book", &book); !f.OK {
				return f.Err
			}

			err := typed.Set(ctx, rt, "", "copy", copySpec(book))
			if errors.Is(err, etcd.ErrFenced) {
				select {
				case refused <- err:
				default:
				}
			}

			return err
		},
	}))

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	// A long lease: its next renewal, which would notice, is ten seconds away.
	go func() { ended <- etcd.Lead(ctx, client, "/led-leader", rt.Run, etcd.WithLease(time.Minute)) }()

	ok(t, typed.Set(ctx, st, "", "book", BookSpec{Title: "Emma"}))

	copied := func() string {
		r, err := typed.Get[copySpec](ctx, st, "", "copy")
		if err != nil {
			return err.Error()
		}

		return r.TypedSpec().Title
	}

	retry(t, func() error {
		if got := copied(); got != "Emma" {
			return fmt.Errorf("the leader has written %q, want Emma", got)
		}

		return nil
	})

	leases, err := client.Leases(ctx)
	ok(t, err)

	for _, l := range leases.Leases {
		_, err := client.Revoke(ctx, l.ID)
		ok(t, err)
	}

	ok(t, typed.Set(ctx, st, "", "book", BookSpec{Title: "Persuasion"}))
	within(t, "a write of the previous leader is refused", patience, refused)

	if got := copied(); got != "Emma" {
		t.Errorf("the previous leader has written %q", got)
	}

	cancel()
	within(t, "the previous leader ends", patience, ended)
}

// copySpec is a copy of a book.
type copySpec struct {
	Title string `yaml:"title" protobuf:"1"`
}

var copyDefinition = &resource.Definition{Type: "Copies.example.org", DefaultNamespace: "default"}

// Definition implements resource.Spec.
func (copySpec) Definition() *resource.Definition { return copyDefinition }
