// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// NodeAddressSortAlgorithmController takes the order of node addresses from the configuration.
func NodeAddressSortAlgorithmController() controller.Controller {
	return fromMachineConfig[network.NodeAddressSortAlgorithmSpec]("network.NodeAddressSortAlgorithmController", func(ctx context.Context, rt controller.Runtime, cfg *view.Config) error {
		var spec network.NodeAddressSortAlgorithmSpec

		if algorithm := cfg.NodeAddressSortAlgorithm(); algorithm != "" {
			if err := spec.Algorithm.UnmarshalText([]byte(algorithm)); err != nil {
				return fmt.Errorf("machine.features.nodeAddressSortAlgorithm: %w", err)
			}
		}

		return set(ctx, rt, "", network.NodeAddressSortAlgorithmID, spec)
	})
}
