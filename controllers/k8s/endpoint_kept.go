// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/k8s"
)

const (
	keptEndpointName = "k8s.KeptEndpointController"
	keptRequester    = "kube-apiservers"
	// keptFile on the volume STATE has the addresses of the cluster's API servers, in JSON.
	keptFile = "kube-apiservers"
	// maxKeptFile is far more than the addresses of a cluster's control planes need, in bytes.
	maxKeptFile = 64 << 10
)

// keptEndpointController keeps the addresses of the API servers on STATE, and publishes them from the boot until an API server tells which there
// are now. So a machine without discovery finds its cluster when the endpoint of its configuration is gone. Addresses that are not the cluster's
// any more do no harm: who connects to them verifies certificates.
func keptEndpointController() controller.Controller {
	file := volume.Kept[[]netip.Addr]{Controller: keptEndpointName, Requester: keptRequester, File: keptFile, Max: maxKeptFile}

	return &controller.Reconciler{
		ControllerName: keptEndpointName,
		Reads:          append(volume.Inputs(), controller.In[k8s.EndpointSpec](controller.Weak, "", k8s.EndpointAPIServerID)),
		Writes:         []controller.Output{volume.Output(), controller.Out[k8s.EndpointSpec](controller.Shared)},
		// The request for STATE is not written again once it is served, and so destroyed.
		Cleanup: []resource.Kind{resource.KindOf[block.VolumeMountRequestSpec](""), resource.KindOf[k8s.EndpointSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var now k8s.EndpointSpec

			known := typed.Read(ctx, rt, k8s.EndpointAPIServerID, &now)
			if known.Err != nil {
				return known.Err
			}

			kept, ok, err := file.Read(ctx, rt)
			if !ok {
				return err
			}

			if err != nil {
				log.WarnContext(ctx, "the addresses of the API servers that were known before this boot are lost", "error", err)
			}

			usable := slices.DeleteFunc(slices.Clone(kept), func(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() })

			if !known.OK && len(usable) > 0 {
				if err := typed.Set(ctx, rt, "", k8s.EndpointKeptID, k8s.EndpointSpec{Addresses: usable}); err != nil {
					return err
				}
			}

			if known.OK {
				kept = now.Addresses
			}

			return file.Write(ctx, rt, kept)
		},
	}
}
