// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Lock is held while the members of etcd change.
type Lock interface {
	// Lost is closed when another machine may have the lock.
	Lost() <-chan struct{}
	Release(ctx context.Context) error
}

const (
	// membersLock is the name of the lock.
	membersLock = "talos:v1:lock:etcd-members"
	// lockTTL is after how many seconds the lock of a machine that is gone is free.
	lockTTL = 15
)

// claimMembers takes the lock under which members change, or fails when ctx ends before.
func claimMembers(ctx context.Context, client *clientv3.Client, holder string) (Lock, error) {
	lease, err := client.Grant(ctx, lockTTL)
	if err != nil {
		return nil, fmt.Errorf("take the lock of etcd's members: %w", err)
	}

	session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID))
	if err != nil {
		return nil, fmt.Errorf("take the lock of etcd's members: %w", err)
	}

	mutex := concurrency.NewMutex(session, membersLock)
	if err := mutex.Lock(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("take the lock of etcd's members for %s: %w", holder, err), session.Close())
	}

	return &lock{session, mutex}, nil
}

type lock struct {
	session *concurrency.Session
	mutex   *concurrency.Mutex
}

// Lost implements Lock.
func (l *lock) Lost() <-chan struct{} { return l.session.Done() }

// Release implements Lock. The end of the session releases the lock, too.
func (l *lock) Release(ctx context.Context) error {
	return errors.Join(l.mutex.Unlock(ctx), l.session.Close())
}
