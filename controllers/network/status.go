// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// StatusController tells which parts of the network are ready: it has an address, a default route, a name, and
// the files that say so are in place.
func StatusController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.StatusController",
		Reads: []controller.Input{
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
			controller.In[network.RouteStatusSpec](controller.Weak, ""),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[files.EtcFileStatusSpec](controller.Weak, ""),
		},
		Writes:    []controller.Output{controller.Out[network.StatusSpec](controller.Exclusive)},
		Reconcile: reconcileStatus,
	}
}

func reconcileStatus(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	var status network.StatusSpec

	addresses, err := typed.Find[network.NodeAddressSpec](ctx, rt, "", network.NodeAddressCurrentID)
	if err != nil {
		return err
	}

	status.AddressReady = addresses != nil && len(addresses.TypedSpec().Addresses) > 0

	routes, err := typed.List[network.RouteStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	for _, r := range routes {
		spec := r.TypedSpec()
		if spec.IsDefault() {
			status.ConnectivityReady = true
		}
	}

	hostname, err := typed.Find[network.HostnameStatusSpec](ctx, rt, "", network.HostnameID)
	if err != nil {
		return err
	}

	status.HostnameReady = hostname != nil

	written, err := typed.List[files.EtcFileStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	wanted := map[string]bool{files.Hosts: true, files.ResolvConf: true}
	for _, f := range written {
		delete(wanted, f.Metadata().ID())
	}

	status.EtcFilesReady = len(wanted) == 0

	return set(ctx, rt, "", network.StatusID, status)
}
