// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// held are the merged specs of S, each with the controller's finalizer: those wanted, and those on their way
// out, which are released once the kernel has let go of them.
type held[S layered] struct {
	wanted, leaving []S
	pointers        []resource.Pointer // of leaving
}

func hold[S layered](ctx context.Context, rt controller.Runtime, finalizer string) (held[S], error) {
	var h held[S]

	items, err := typed.List[S](ctx, rt, network.NamespaceName)
	if err != nil {
		return h, err
	}

	for _, item := range items {
		md := item.Metadata()

		if md.Phase() == resource.PhaseTearingDown {
			if md.HasFinalizer(finalizer) {
				h.leaving = append(h.leaving, *item.TypedSpec())
				h.pointers = append(h.pointers, md.Pointer())
			}

			continue
		}

		if !md.HasFinalizer(finalizer) {
			if err := rt.AddFinalizer(ctx, md.Pointer(), finalizer); err != nil {
				return h, err
			}
		}

		h.wanted = append(h.wanted, *item.TypedSpec())
	}

	return h, nil
}

// release lets go of what was leaving.
func (h held[S]) release(ctx context.Context, rt controller.Runtime, finalizer string) error {
	for _, p := range h.pointers {
		if err := rt.RemoveFinalizer(ctx, p, finalizer); err != nil {
			return err
		}
	}

	return nil
}
