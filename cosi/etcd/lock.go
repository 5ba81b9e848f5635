// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Lock is held by one process at a time, of all processes that ask for the same key. It is released when its holder
// releases it, and otherwise expires: a holder that is cut off loses it after two thirds of the lease, and the
// next process holds it after the whole lease.
//
// A holder that was stopped, such as a paused virtual machine, does not notice in time that it lost the lock. So what the lock
// protects must be written with a fence: a context of Fenced for a Store, or the condition Held for a transaction.
type Lock struct {
	lease *lease
	key   string // that of its place in the queue
	place int64  // revision at which it was put into the queue
}

// LockOption is an option of Acquire and of Lead.
type LockOption func(*lockOptions)

type lockOptions struct {
	lease  time.Duration
	holder string
	prefix string
	shown  func(since time.Time) resource.Resource
}

// WithLease sets the longest time for which a lock stays held after its holder was cut off: whole seconds, at least two. The
// default is DefaultLease.
func WithLease(d time.Duration) LockOption { return func(o *lockOptions) { o.lease = d } }

// WithHolder sets the name of this process, which others are told while they wait.
func WithHolder(name string) LockOption { return func(o *lockOptions) { o.holder = name } }

// ShownAs shows the lock, while it is held, as a resource in the store with the prefix: the one that show returns, which must
// have the same identity in all processes. The resource is written when the lock is acquired, and etcd deletes it
// together with the lock. No one else may write it.
func ShownAs(prefix string, show func(since time.Time) resource.Resource) LockOption {
	return func(o *lockOptions) { o.prefix, o.shown = prefix, show }
}

// Acquire waits until this process holds the lock, in the order of the calls. The key must be outside the prefix of a
// store. If the context ends before, the error is a *LockedError. The lock does not end with the context: call Release.
//
//	lock, err := etcd.Acquire(ctx, client, "/locks/backup", etcd.WithHolder("node-1"))
//	if err != nil {
//		return err
//	}
//	defer lock.Release(ctx)
func Acquire(ctx context.Context, client *clientv3.Client, key string, opts ...LockOption) (*Lock, error) {
	o := lockOptions{lease: DefaultLease}
	for _, opt := range opts {
		opt(&o)
	}

	for {
		l, err := acquire(ctx, client, key, o)
		if !errors.Is(err, ErrNotLeading) || ctx.Err() != nil {
			return l, err
		}
		// It was cut off while it waited, and lost its place in the queue.
	}
}

func acquire(ctx context.Context, client *clientv3.Client, key string, o lockOptions) (*Lock, error) {
	ls, err := newLease(ctx, client, o.lease)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", key, err)
	}

	l := &Lock{lease: ls, key: fmt.Sprintf("%s/%x", key, ls.id)}

	// Waiting ends with the caller's context, and with the lease.
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	stop := context.AfterFunc(ls.ctx, func() { cancel(context.Cause(ls.ctx)) })
	defer stop()

	q := &queue{client: client, key: key, lock: l}

	err = q.wait(waiting, o.holder)
	if err == nil && o.shown != nil {
		err = l.show(waiting, o)
	}

	if err == nil {
		return l, nil
	}

	if cause := context.Cause(waiting); cause != nil {
		err = cause
	}

	err = q.explain(ctx, err)

	l.giveUp(ctx) // otherwise it expires

	return nil, err
}

// Lost is closed when the lock is not held any more. context.Cause of Context has the reason.
func (l *Lock) Lost() <-chan struct{} { return l.lease.ctx.Done() }

// Context returns a context that ends when the lock is lost, with the cause ErrNotLeading, or when ctx ends. Writes to a Store
// with it are fenced.
func (l *Lock) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(Fenced(ctx, l))
	stop := context.AfterFunc(l.lease.ctx, func() { cancel(context.Cause(l.lease.ctx)) })

	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Place grows with each holder of the lock. It is a fencing token for what is not in etcd: who takes orders from holders refuses
// those with a lower place than it has seen.
func (l *Lock) Place() int64 { return l.place }

// Held is a condition of a transaction that is true while the lock is held:
//
//	client.Txn(ctx).If(lock.Held()).Then(clientv3.OpPut(key, value)).Commit()
func (l *Lock) Held() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(l.key), "=", l.place)
}

// Release releases the lock. When it fails, the lock expires. No goroutine remains in either case.
func (l *Lock) Release(ctx context.Context) error {
	if err := l.giveUp(ctx); err != nil {
		return fmt.Errorf("release lock %s: it expires after %s: %w", l.key, l.lease.time, err)
	}

	return nil
}

func (l *Lock) giveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lease.time/3)
	defer cancel()

	return l.lease.giveUp(ctx)
}

// show writes the resource that shows the lock. Its key has the lease of the lock.
func (l *Lock) show(ctx context.Context, o lockOptions) error {
	r := o.shown(time.Now()).DeepCopy()
	r.Metadata().Begin(r.Metadata().Owner(), time.Now().UnixNano())

	value, err := resource.MarshalWire(r)
	if err != nil {
		return err
	}

	s := &Store{o: options{prefix: o.prefix}}
	put := clientv3.OpPut(s.key(r.Metadata().Pointer()), string(value), clientv3.WithLease(l.lease.id))

	res, err := l.lease.client.Txn(ctx).If(l.Held()).Then(put).Commit()
	if err == nil && !res.Succeeded {
		err = ErrNotLeading
	}

	return err
}
