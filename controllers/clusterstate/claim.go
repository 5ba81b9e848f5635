// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
)

// Held is a lock of the cluster that this node holds.
type Held struct {
	lock *etcd.Lock
	name string
}

// Claim waits until this node, the holder, holds the lock with the name; nodes get it in the order in which they ask. If the context
// ends before, the error is an *etcd.LockedError that names the current holder. The lock is held, also after the context has ended,
// until it is released or lost:
//
//	held, err := clusterstate.Claim(ctx, client, "etcd-members", hostname)
//	if err != nil {
//		return err
//	}
//	defer held.Release(ctx)
//
//	ctx, cancel := held.Context(ctx) // ends when the lock is lost
//	defer cancel()
//
// The client is of any member of the cluster. It stays open, and must not be closed before the lock is released.
func Claim(ctx context.Context, client *clientv3.Client, name, holder string) (*Held, error) {
	lock, err := etcd.Acquire(ctx, client, keyOf(name), etcd.WithHolder(holder), etcd.WithLease(Lease),
		etcd.ShownAs(Prefix, func(since time.Time) resource.Resource {
			r := resource.New[clusterstateres.LockSpec]("", name)
			*r.TypedSpec() = clusterstateres.LockSpec{Holder: holder, Since: since}

			return r
		}))
	if err != nil {
		return nil, fmt.Errorf("claim the cluster's lock %s for %s: %w", name, holder, err)
	}

	return &Held{lock, name}, nil
}

// ClaimWithin is Claim with a limit: it gives up its place in the queue after patience, so that its caller can say what it waits for.
func ClaimWithin(ctx context.Context, client *clientv3.Client, name, holder string, patience time.Duration) (*Held, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	return Claim(ctx, client, name, holder)
}

// Lost is closed when this node does not hold the lock any more: it could not renew it for ten seconds, or released it. Other nodes
// get the lock some seconds later, at the earliest.
func (h *Held) Lost() <-chan struct{} { return h.lock.Lost() }

// Context returns a context that ends when the lock is lost, or with ctx. Writes to the shared state with it are made only while the
// lock is held.
func (h *Held) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	return h.lock.Context(ctx)
}

// Condition is true in a transaction of etcd while the lock is held. A node that was stopped for a while, such as a paused virtual
// machine, may not know yet that it lost the lock, but its transaction fails.
func (h *Held) Condition() clientv3.Cmp { return h.lock.Held() }

// Release releases the lock for the next node. If it fails, the lock expires.
func (h *Held) Release(ctx context.Context) error { return h.lock.Release(ctx) }
