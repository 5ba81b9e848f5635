// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// NodeAddressSortAlgorithmController takes the order of node addresses from the configuration.
func NodeAddressSortAlgorithmController() controller.Controller {
	return fromconfig.Many("network.NodeAddressSortAlgorithmController", controller.Exclusive, func(cfg *view.Config) (map[string]network.NodeAddressSortAlgorithmSpec, error) {
		var spec network.NodeAddressSortAlgorithmSpec

		if algorithm := cfg.NodeAddressSortAlgorithm(); algorithm != "" {
			if err := spec.Algorithm.UnmarshalText([]byte(algorithm)); err != nil {
				return nil, fmt.Errorf("machine.features.nodeAddressSortAlgorithm: %w", err)
			}
		}

		return map[string]network.NodeAddressSortAlgorithmSpec{network.NodeAddressSortAlgorithmID: spec}, nil
	})
}
