// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	// vipElection is the beginning of the keys of elections in etcd.
	vipElection = "talos:v1:vip:"
	// vipLease is how long an address has no machine after the one that had it lost its power. With two seconds a stop of etcd for more
	// than 1.3 seconds makes the address move; without etcd there is no API server behind it either.
	vipLease = 2 * time.Second
	// vipRemoval is how long a machine that lost the election may take to remove the address: the rest of the lease.
	vipRemoval = vipLease / 3
	// vipAgain is the pause after an election that failed.
	vipAgain = time.Second
)

// credentials are those for etcd.
type credentials struct {
	root  secrets.EtcdRootSpec
	certs secrets.EtcdCertsSpec
}

// Elect runs fn while this machine is the elected one for a key, and returns when it is not any more.
type Elect func(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error

// electInEtcd is Elect by the etcd of this machine.
func electInEtcd(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error {
	client, err := etcdclient.New(ctx, root, certs, contract.EtcdURL)
	if err != nil {
		return err
	}
	defer client.Close()

	return elect(ctx, client, key, fn)
}

func elect(ctx context.Context, client *clientv3.Client, key string, fn func(context.Context) error) error {
	return etcd.Lead(ctx, client, key, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		elsewhere := guard.Go(func() error {
			leadElsewhere(ctx, client, firstLook)

			return nil
		})

		defer func() {
			cancel()
			<-elsewhere
		}()

		return fn(ctx)
	}, etcd.WithLease(vipLease))
}

// campaign takes part in the election for one address until it is ended.
type campaign struct {
	cancel context.CancelFunc
	done   <-chan error
	// yield lets the next machine win.
	yield chan struct{}

	mu  sync.Mutex
	won bool
	err error // of the last election
}

// startCampaign calls changed after each change of won.
func startCampaign(ctx context.Context, elect Elect, access func() credentials, key string, removal time.Duration, changed func()) *campaign {
	ctx, cancel := context.WithCancel(ctx)
	c := &campaign{cancel: cancel, yield: make(chan struct{}, 1)}

	c.done = guard.Go(func() error {
		for ctx.Err() == nil {
			now := access()
			err := guard.Call(func() error {
				return elect(ctx, now.root, now.certs, key, func(ctx context.Context) error { return c.hold(ctx, removal, changed) })
			})

			if c.set(false, err) {
				changed()
			}

			pause := vipAgain
			if _, ok := errors.AsType[*moveError](err); ok {
				pause = moveAgain
			}

			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}

		return nil
	})

	return c
}

// hold is the time during which the election is won. It returns when the kernel does not have the address any more.
func (c *campaign) hold(ctx context.Context, limit time.Duration, changed func()) error {
	select {
	case <-c.yield: // of an earlier election
	default:
	}

	c.set(true, nil)
	changed()

	over, removal := ctx.Done(), time.NewTimer(0)
	defer removal.Stop()

	<-removal.C

	for {
		select {
		case <-c.yield:
			return nil
		case <-removal.C:
			return nil
		case <-over:
			over = nil

			c.set(false, context.Cause(ctx))
			changed()
			removal.Reset(limit)
		}
	}
}

// giveWay ends the hold.
func (c *campaign) giveWay() {
	c.set(false, nil)

	select {
	case c.yield <- struct{}{}:
	default:
	}
}

// set records whether the election is won, and the cause if not. It reports whether that is news.
func (c *campaign) set(won bool, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if errors.Is(err, context.Canceled) {
		err = nil
	}

	news := c.won != won || (c.err == nil) != (err == nil)
	c.won, c.err = won, err

	return news
}

func (c *campaign) state() (won bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.won, c.err
}

// end leaves the election, and returns when the next machine can win.
func (c *campaign) end() {
	c.cancel()
	c.giveWay()
	<-c.done
}
