// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// readiness has the id of a default route: there may be thousands of routes, and each change of one wakes the controller.
type readiness struct{ id string }

// routes returns a default route if there is one.
func (r *readiness) routes(ctx context.Context, rt state.Reader) ([]*resource.Typed[network.RouteStatusSpec], error) {
	if r.id != "" {
		known, err := typed.Find[network.RouteStatusSpec](ctx, rt, "", r.id)
		if err != nil || known != nil && known.TypedSpec().IsDefault() {
			return []*resource.Typed[network.RouteStatusSpec]{known}, err
		}
	}

	all, err := typed.List[network.RouteStatusSpec](ctx, rt, "")
	r.id = ""

	for _, route := range all {
		if route.TypedSpec().IsDefault() {
			r.id = route.Metadata().ID()

			return []*resource.Typed[network.RouteStatusSpec]{route}, err
		}
	}

	return nil, err
}
