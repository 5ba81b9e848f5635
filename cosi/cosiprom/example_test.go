// SPDX-License-Identifier: Apache-2.0

package cosiprom_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-59268b81/talos/cosi/cosiprom"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// The metrics of a store and of the controllers on it.
func Example() {
	metrics := cosiprom.New()
	st := metrics.State(memory.New())
	rt := runtime.New(st, slog.New(slog.DiscardHandler), runtime.WithObserver(metrics.Observe))
	metrics.Follow(rt)

	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	if err := typed.Set(context.Background(), st, "", "web", hostSpec{Name: "www"}); err != nil {
		panic(err)
	}

	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}

	for _, f := range families {
		fmt.Println(f.GetName())
	}
	// Output: cosi_state_requests_total
}
