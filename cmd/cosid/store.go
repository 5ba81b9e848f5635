// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

const dialTimeout = 10 * time.Second

// open opens the store that the options select. It does not decode resources.
func open(ctx context.Context, o options) (state.State, func() error, error) {
	history := o.history
	if history <= 0 {
		history = memory.DefaultHistory
	}

	switch {
	case o.bolt != "" && o.etcd != "":
		return nil, nil, errors.New("--bolt and --etcd exclude each other")
	case o.bolt != "":
		st, err := bolt.Open(o.bolt, bolt.WithHistory(history))
		if err != nil {
			return nil, nil, err
		}

		return st, st.Close, nil
	case o.etcd != "":
		return openEtcd(ctx, o, history)
	default:
		return memory.New(memory.WithHistory(history)), func() error { return nil }, nil
	}
}

func openEtcd(ctx context.Context, o options, history int) (state.State, func() error, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(o.etcd, ","), DialTimeout: dialTimeout})
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()

	st, err := etcd.Open(ctx, client, etcd.WithPrefix(o.prefix), etcd.WithHistory(history))
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}

	return st, func() error {
		st.Close()

		return client.Close()
	}, nil
}
