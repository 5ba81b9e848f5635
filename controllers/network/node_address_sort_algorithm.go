// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// NodeAddressSortAlgorithmController takes the order of node addresses from the configuration.
func NodeAddressSortAlgorithmController() controller.Controller {
	return fromMachineConfig[network.NodeAddressSortAlgorithmSpec]("network.NodeAddressSortAlgorithmController", func(ctx context.Context, rt controller.Runtime, cfg *config.Config) error {
		var spec network.NodeAddressSortAlgorithmSpec

		if machine := cfg.Machine(); machine != nil && machine.Features.NodeAddressSortAlgorithm != "" {
			if err := spec.Algorithm.UnmarshalText([]byte(machine.Features.NodeAddressSortAlgorithm)); err != nil {
				return fmt.Errorf("machine.features.nodeAddressSortAlgorithm: %w", err)
			}
		}

		return set(ctx, rt, "", network.NodeAddressSortAlgorithmID, spec)
	})
}
