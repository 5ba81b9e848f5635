// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// HardwareAddrController publishes the hardware address that identifies the machine: that of the first physical link by index.
func HardwareAddrController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.HardwareAddrController",
		Reads:          []controller.Input{controller.In[network.LinkStatusSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[network.HardwareAddrSpec](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[network.HardwareAddrSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			links, err := typed.List[network.LinkStatusSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			links = slices.DeleteFunc(links, func(l *resource.Typed[network.LinkStatusSpec]) bool { return !l.TypedSpec().Physical() })
			if len(links) == 0 {
				return nil
			}

			first := slices.MinFunc(links, func(a, b *resource.Typed[network.LinkStatusSpec]) int {
				return cmp.Compare(a.TypedSpec().Index, b.TypedSpec().Index)
			})

			return set(ctx, rt, "", network.FirstHardwareAddr, network.HardwareAddrSpec{
				Name: first.Metadata().ID(), HardwareAddr: first.TypedSpec().Permanent(),
			})
		},
	}
}
