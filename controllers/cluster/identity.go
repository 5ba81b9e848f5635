// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/files"
)

const (
	identityControllerName = "cluster.NodeIdentityController"
	requester              = "node-identity"
)

// NodeIdentityController reads the machine's identity from the STATE volume, or creates it there, and derives /etc/machine-id from
// it.
func NodeIdentityController() controller.Controller {
	var known string // it does not change, so STATE need not stay mounted

	return &controller.Reconciler{
		ControllerName: identityControllerName,
		Reads:          volume.Inputs(),
		Writes: []controller.Output{
			volume.Output(),
			controller.Out[cluster.IdentitySpec](controller.Exclusive),
			controller.Out[files.EtcFileSpecSpec](controller.Shared),
		},
		// Once the identity is known, the request for STATE is no longer written, and so destroyed.
		Cleanup: []resource.Kind{resource.KindOf[block.VolumeMountRequestSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			released := func(context.Context) error { return nil }

			if known == "" {
				target, err := volume.Request(ctx, rt, identityControllerName, requester, block.VolumeState, released)
				if err != nil || target == "" {
					return err
				}

				if known, err = loadIdentity(target); err != nil {
					return err
				}

				log.Info("node identity", "id", known)

				defer rt.QueueReconcile() // the next round releases the volume
			} else if err := volume.Release(ctx, rt, identityControllerName, requester, block.VolumeState); err != nil {
				return err
			}

			if err := typed.Set(ctx, rt, "", cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: known}); err != nil {
				return err
			}

			id, err := machineID(known)
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", files.MachineID, files.EtcFileSpecSpec{Contents: id + "\n", Mode: 0o444})
		},
	}
}
