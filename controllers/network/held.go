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

// held are the merged specs of S, each with the controller's finalizer: those wanted, and those on their way
// out, each of which is released once the kernel has let go of it.
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

// release lets go of a spec that was leaving.
func release[S layered](ctx context.Context, rt controller.Runtime, finalizer, id string) error {
	return rt.RemoveFinalizer(ctx, resource.PointerOf[S](network.NamespaceName, id), finalizer)
}
