// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// AddressFilterController makes the filters that tell the machine's own addresses from those of Kubernetes'
// pods and services.
func AddressFilterController() controller.Controller {
	return fromMachineConfig[network.NodeAddressFilterSpec]("k8s.AddressFilterController", func(ctx context.Context, rt controller.Runtime, cfg *view.Config) error {
		if !cfg.Complete() {
			return nil
		}

		subnets := slices.Concat(cfg.PodSubnets(), cfg.ServiceSubnets())

		if err := set(ctx, rt, "", network.NodeAddressFilterNoK8s, network.NodeAddressFilterSpec{ExcludeSubnets: subnets}); err != nil {
			return err
		}

		return set(ctx, rt, "", network.NodeAddressFilterOnlyK8s, network.NodeAddressFilterSpec{IncludeSubnets: subnets})
	})
}
