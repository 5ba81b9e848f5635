// SPDX-License-Identifier: Apache-2.0

package introspect_test

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/introspect"
	"github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// The counters of controllers are resources that are read when a client gets them.
func Example() {
	st := introspect.New(func() []runtime.Metrics { // of a program: rt.Metrics
		return []runtime.Metrics{{Controller: "GreetingController", Wakeups: 3, Writes: 1}}
	})

	r, err := typed.Get[introspect.ControllerMetricsSpec](context.Background(), st, introspect.NamespaceName, "GreetingController")
	if err != nil {
		panic(err)
	}

	fmt.Println(r.Metadata().ID(), r.TypedSpec().Wakeups, r.TypedSpec().Writes)
	// Output: GreetingController 3 1
}
