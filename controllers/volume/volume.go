// SPDX-License-Identifier: Apache-2.0

// Package volume is the controllers' side of the handshake that mounts a volume: a request, a grant that the controller holds with a
// finalizer, and its release before the volume is unmounted.
package volume

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
)

// Inputs returns the inputs of a controller that requests a volume.
func Inputs() []controller.Input {
	return []controller.Input{controller.In[block.VolumeMountStatusSpec](controller.Strong, "")}
}

// Output returns the output of a controller that requests a volume.
func Output() controller.Output {
	return controller.Out[block.VolumeMountRequestSpec](controller.Shared)
}

// Request requests a volume in the name of a service, and returns its mount point, or "" until it is mounted. Before the volume is
// unmounted, release is called; it must return only when nothing uses the volume any more.
func Request(ctx context.Context, rt controller.Runtime, finalizer, requester, volume string, release func(context.Context) error) (string, error) {
	id := idOf(requester, volume)

	// An earlier request of the service that is being torn down is made again when it is destroyed: the runtime wakes the controller then.
	err := typed.Set(ctx, rt, "", id, block.VolumeMountRequestSpec{VolumeID: volume, Requester: requester})
	ends := state.IsPhaseConflict(err)

	if err != nil && !ends {
		return "", fmt.Errorf("request volume %s for %s: %w", volume, requester, err)
	}

	grant, err := typed.Find[block.VolumeMountStatusSpec](ctx, rt, "", id)
	if err != nil || grant == nil {
		return "", err
	}

	md := grant.Metadata()

	if md.Phase() == resource.PhaseRunning {
		if ends {
			return "", nil // the grant ends with the request
		}

		return grant.TypedSpec().Target, rt.AddFinalizer(ctx, md.Pointer(), finalizer)
	}

	if md.HasFinalizer(finalizer) {
		if err := release(ctx); err != nil {
			return "", fmt.Errorf("release volume %s of %s: %w", volume, requester, err)
		}

		return "", rt.RemoveFinalizer(ctx, md.Pointer(), finalizer)
	}

	return "", nil
}

// Release removes the finalizer from the grant of a volume.
func Release(ctx context.Context, rt controller.Runtime, finalizer, requester, volume string) error {
	return rt.RemoveFinalizer(ctx, resource.PointerOf[block.VolumeMountStatusSpec]("", idOf(requester, volume)), finalizer)
}

func idOf(requester, volume string) string { return requester + "-" + volume }
