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

// StatusController publishes which parts of the network are ready: whether there is an address, a connection, a hostname, and the files in
// /etc. There is a connection if all probes succeed; without probes, if there is a default route.
func StatusController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.StatusController",
		Reads: []controller.Input{
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
			controller.In[network.RouteStatusSpec](controller.Weak, ""),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
			controller.In[files.EtcFileStatusSpec](controller.Weak, ""),
			controller.In[network.ProbeSpecSpec](controller.Weak, ""),
			controller.In[network.ProbeStatusSpec](controller.Weak, ""),
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

	connected, probes, err3 := probed(ctx, rt)

	if err := errors.Join(address.Err, name.Err, err1, err2, err3); err != nil {
		return err
	}

	if !probes {
		connected = slices.ContainsFunc(routes, func(r *resource.Typed[network.RouteStatusSpec]) bool { return r.TypedSpec().IsDefault() })
	}

	isWritten := func(id string) bool {
		return slices.ContainsFunc(written, func(f *resource.Typed[files.EtcFileStatusSpec]) bool { return f.Metadata().ID() == id })
	}

	return set(ctx, rt, "", network.StatusID, network.StatusSpec{
		AddressReady:      len(addresses.Addresses) > 0,
		ConnectivityReady: connected,
		HostnameReady:     name.OK,
		EtcFilesReady:     isWritten(files.Hosts) && isWritten(files.ResolvConf),
	})
}

// probed reports whether all probes succeed, and whether there are some. A probe without a result has not succeeded yet.
func probed(ctx context.Context, rt controller.Runtime) (succeed, some bool, err error) {
	specs, err1 := typed.List[network.ProbeSpecSpec](ctx, rt, "")
	results, err2 := typed.List[network.ProbeStatusSpec](ctx, rt, "")

	success := map[string]bool{}
	for _, r := range results {
		success[r.Metadata().ID()] = r.TypedSpec().Success
	}

	succeed = true

	for _, s := range specs {
		if s.Metadata().Phase() == resource.PhaseRunning {
			some, succeed = true, succeed && success[s.Metadata().ID()]
		}
	}

	return succeed, some, errors.Join(err1, err2)
}
