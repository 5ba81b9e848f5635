// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// NodeAddressController computes the sets of node addresses.
func NodeAddressController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.NodeAddressController",
		Reads: []controller.Input{
			controller.In[network.AddressStatusSpec](controller.Weak, ""),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[network.NodeAddressFilterSpec](controller.Weak, ""),
			controller.In[network.NodeAddressSortAlgorithmSpec](controller.Weak, ""),
			fromconfig.Input(),
		},
		Writes:    []controller.Output{controller.Out[network.NodeAddressSpec](controller.Exclusive)},
		Cleanup:   []resource.Kind{resource.KindOf[network.NodeAddressSpec]("")},
		Reconcile: reconcileNodeAddresses,
	}
}

func reconcileNodeAddresses(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	f := addressFacts{up: map[string]bool{}, filters: map[string]network.NodeAddressFilterSpec{}, before: map[string][]netip.Prefix{}}

	var algorithm network.NodeAddressSortAlgorithmSpec

	found := typed.Read(ctx, rt, network.NodeAddressSortAlgorithmID, &algorithm)
	addresses, err1 := typed.List[network.AddressStatusSpec](ctx, rt, "")
	links, err2 := typed.List[network.LinkStatusSpec](ctx, rt, "")
	filters, err3 := typed.List[network.NodeAddressFilterSpec](ctx, rt, "")
	before, err4 := typed.List[network.NodeAddressSpec](ctx, rt, "")
	cfg, err5 := fromconfig.View(ctx, rt)

	if err := errors.Join(found.Err, err1, err2, err3, err4, err5); err != nil {
		return err
	}

	f.shared = cfg.VIPAddresses()

	f.algorithm = algorithm.Algorithm

	for _, a := range addresses {
		f.addresses = append(f.addresses, *a.TypedSpec())
	}

	for _, l := range links {
		f.up[l.Metadata().ID()] = l.TypedSpec().Flags&nethelpers.LinkUp != 0
	}

	for _, filter := range filters {
		f.filters[filter.Metadata().ID()] = *filter.TypedSpec()
	}

	for _, b := range before {
		f.before[b.Metadata().ID()] = b.TypedSpec().Addresses
	}

	sets := nodeAddresses(f)

	if def, ok := sets[network.NodeAddressDefaultID]; ok && len(f.before[network.NodeAddressDefaultID]) == 0 {
		log.Info("this machine's default address", "address", def[0])
	}

	for id, addresses := range sets {
		if err := set(ctx, rt, "", id, network.NodeAddressSpec{Addresses: addresses, SortAlgorithm: f.algorithm}); err != nil {
			return err
		}
	}

	return nil
}
