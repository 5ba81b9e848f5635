// SPDX-License-Identifier: Apache-2.0

package network

import (
	"slices"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// AddressFilterController creates the filters that separate the machine's own addresses from those of Kubernetes' pods and services.
func AddressFilterController() controller.Controller {
	return fromconfig.Many("k8s.AddressFilterController", controller.Exclusive, func(cfg *view.Config) (map[string]network.NodeAddressFilterSpec, error) {
		if !cfg.Complete() {
			return nil, nil
		}

		subnets := slices.Concat(cfg.PodSubnets(), cfg.ServiceSubnets())

		return map[string]network.NodeAddressFilterSpec{
			network.NodeAddressFilterNoK8s:   {ExcludeSubnets: subnets},
			network.NodeAddressFilterOnlyK8s: {IncludeSubnets: subnets},
		}, nil
	})
}
