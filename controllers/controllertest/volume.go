// SPDX-License-Identifier: Apache-2.0

package controllertest

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/block"
)

// Mount waits for the request for a volume, mounts it at the target, and waits until it is released, and no longer requested.
func (n *Node) Mount(requester, volume, target string) {
	n.t.Helper()

	id := requester + "-" + volume
	request := resource.PointerOf[block.VolumeMountRequestSpec]("", id)
	grant := resource.PointerOf[block.VolumeMountStatusSpec]("", id)

	if _, err := n.State.WatchFor(n.t.Context(), request, state.EventTypeIs(state.Created)); err != nil {
		n.t.Fatal(err)
	}

	Set(n, id, block.VolumeMountStatusSpec{VolumeID: volume, Target: target})

	if _, err := n.State.WatchFor(n.t.Context(), request, state.EventTypeIs(state.Destroyed)); err != nil {
		n.t.Fatal(err)
	}

	if _, err := n.State.WatchFor(n.t.Context(), grant, state.FinalizersEmpty()); err != nil {
		n.t.Fatal(err)
	}

	if err := n.State.Destroy(n.t.Context(), grant); err != nil {
		n.t.Fatal(err)
	}
}
