// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// item is a merged spec with its id.
type item[S layered] struct {
	id   string
	spec S
}

// held are the merged specs of S, each with the controller's finalizer: those wanted, and those being torn down. A spec that is torn down is released
// when the kernel does not have the object any more.
type held[S layered] struct {
	wanted, leaving []item[S]
}

func hold[S layered](ctx context.Context, rt controller.Runtime, finalizer string) (held[S], error) {
	var h held[S]

	items, err := typed.List[S](ctx, rt, network.NamespaceName)
	if err != nil {
		return h, err
	}

	for _, r := range items {
		md := r.Metadata()

		if md.Phase() == resource.PhaseTearingDown {
			if md.HasFinalizer(finalizer) {
				h.leaving = append(h.leaving, item[S]{md.ID(), *r.TypedSpec()})
			}

			continue
		}

		if !md.HasFinalizer(finalizer) {
			if err := rt.AddFinalizer(ctx, md.Pointer(), finalizer); err != nil {
				return h, err
			}
		}

		h.wanted = append(h.wanted, item[S]{md.ID(), *r.TypedSpec()})
	}

	return h, nil
}

// release removes the finalizer of a spec that was torn down.
func release[S layered](ctx context.Context, rt controller.Runtime, finalizer, id string) error {
	return rt.RemoveFinalizer(ctx, resource.PointerOf[S](network.NamespaceName, id), finalizer)
}
