// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

// open opens the store that the options ask for. It knows no types: all resources pass through undecoded.
func open(_ context.Context, o options) (state.State, func() error, error) {
	if o.bolt != "" && o.etcd != "" {
		return nil, nil, errors.New("--bolt and --etcd exclude each other")
	}

	history := o.history
	if history <= 0 {
		history = memory.DefaultHistory
	}

	if o.bolt != "" {
		st, err := bolt.Open(o.bolt, bolt.WithHistory(history))
		if err != nil {
			return nil, nil, err
		}

		return st, st.Close, nil
	}

	return memory.New(memory.WithHistory(history)), func() error { return nil }, nil
}
