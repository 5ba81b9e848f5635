// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// StatusController publishes which parts of the network are ready: whether there is an address, a default route, a hostname, and the files
// in /etc.
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
		Reconcile: (&readiness{}).reconcile,
	}
}

func (r *readiness) reconcile(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	var (
		addresses network.NodeAddressSpec
		hostname  network.HostnameStatusSpec
	)

	address, name := typed.Read(ctx, rt, network.NodeAddressCurrentID, &addresses), typed.Read(ctx, rt, network.HostnameID, &hostname)
	routes, err1 := r.routes(ctx, rt)
	written, err2 := typed.List[files.EtcFileStatusSpec](ctx, rt, "")

	if err := errors.Join(address.Err, name.Err, err1, err2); err != nil {
		return err
	}

	isWritten := func(id string) bool {
		return slices.ContainsFunc(written, func(f *resource.Typed[files.EtcFileStatusSpec]) bool { return f.Metadata().ID() == id })
	}

	return set(ctx, rt, "", network.StatusID, network.StatusSpec{
		AddressReady:      len(addresses.Addresses) > 0,
		ConnectivityReady: slices.ContainsFunc(routes, func(r *resource.Typed[network.RouteStatusSpec]) bool { return r.TypedSpec().IsDefault() }),
		HostnameReady:     name.OK,
		EtcFilesReady:     isWritten(files.Hosts) && isWritten(files.ResolvConf),
	})
}
