// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/k8s"
)

const (
	keptEndpointName = "k8s.KeptEndpointController"
	keptRequester    = "kube-apiservers"
	// keptFile on the volume STATE has the addresses of the cluster's API servers, in JSON.
	keptFile = "kube-apiservers"
	// maxKeptFile is far more than the addresses of a cluster's control planes need.
	maxKeptFile = 64 << 10
)

// keptEndpointController keeps the addresses of the API servers on STATE, and publishes them from the boot until an API server tells which there
// are now. So a machine without discovery finds its cluster when the endpoint of its configuration is gone. Addresses that are not the cluster's
// any more do no harm: who connects to them verifies certificates.
func keptEndpointController() controller.Controller {
	var (
		kept   []netip.Addr
		loaded bool
	)

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

			if loaded && !known.OK && len(kept) > 0 {
				if err := typed.Set(ctx, rt, "", k8s.EndpointKeptID, k8s.EndpointSpec{Addresses: kept}); err != nil {
					return err
				}
			}

			if loaded && (!known.OK || slices.Equal(kept, now.Addresses)) {
				return volume.Release(ctx, rt, keptEndpointName, keptRequester, block.VolumeState)
			}

			released := func(context.Context) error { return nil } // no file stays open

			dir, err := volume.Request(ctx, rt, keptEndpointName, keptRequester, block.VolumeState, released)
			if err != nil || dir == "" {
				return err
			}

			path := filepath.Join(dir, keptFile)

			if !loaded {
				if kept, err = loadEndpoints(path); err != nil {
					log.WarnContext(ctx, "the addresses of the API servers that were known before this boot are lost", "error", err)
				}

				loaded = true
			} else {
				if err := storeEndpoints(path, now.Addresses); err != nil {
					return err
				}

				kept = slices.Clone(now.Addresses)
			}

			rt.QueueReconcile() // the next round goes on, or releases the volume

			return nil
		},
	}
}

func loadEndpoints(path string) (addresses []netip.Addr, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the addresses of the API servers: %w", err)
	}
	defer f.Close()

	if err := json.NewDecoder(io.LimitReader(f, maxKeptFile)).Decode(&addresses); err != nil {
		return nil, fmt.Errorf("read the addresses of the API servers in %s: %w", path, err)
	}

	return slices.DeleteFunc(addresses, func(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() }), nil
}

func storeEndpoints(path string, addresses []netip.Addr) error {
	text, err := json.Marshal(addresses)
	if err == nil {
		err = durable.Write(path, text, 0o600)
	}

	if err != nil {
		return fmt.Errorf("store the addresses of the API servers: %w", err)
	}

	return nil
}
