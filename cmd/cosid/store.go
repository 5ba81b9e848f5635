// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
)

// open opens the store that the options ask for.
func open(_ context.Context, o options) (state.State, func() error, error) {
	if o.bolt != "" && o.etcd != "" {
		return nil, nil, errors.New("--bolt and --etcd exclude each other")
	}

	var opts []memory.Option
	if o.history > 0 {
		opts = append(opts, memory.WithHistory(o.history))
	}

	return memory.New(opts...), func() error { return nil }, nil
}
