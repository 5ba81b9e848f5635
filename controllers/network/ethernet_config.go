// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// EthernetConfigController takes the settings of network cards from the configuration.
func EthernetConfigController() controller.Controller {
	var cfg *view.Config

	return frominputs.Controller[network.EthernetSpecSpec]("network.EthernetConfigController", controller.Shared, frominputs.List{
		anyConfig(&cfg).OrKeep(),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		for _, e := range cfg.Ethernet() {
			spec, err := ethernetSpec(e)
			if err != nil {
				log.Error("the settings of a network card cannot be set and are left out", "link", e.Name(), "error", err)

				continue
			}

			if err := set(ctx, rt, "", e.Name(), spec); err != nil {
				return err
			}
		}

		return nil
	})
}

func ethernetSpec(e *view.Ethernet) (network.EthernetSpecSpec, error) {
	spec := network.EthernetSpecSpec{Features: e.Features}

	if r := e.Rings; r != nil {
		spec.Rings = network.EthernetRingsSpec{
			RX: r.RX, TX: r.TX, RXMini: r.RXMini, RXJumbo: r.RXJumbo, RXBufLen: r.RXBufLen, CQESize: r.CQESize,
			TXPush: r.TXPush, RXPush: r.RXPush, TXPushBufLen: r.TXPushBufLen, TCPDataSplit: r.TCPDataSplit,
		}
	}

	if c := e.Channels; c != nil {
		spec.Channels = network.EthernetChannelsSpec{RX: c.RX, TX: c.TX, Other: c.Other, Combined: c.Combined}
	}

	for _, mode := range e.WakeOnLAN {
		var m nethelpers.WOLMode
		if err := m.UnmarshalText([]byte(mode)); err != nil {
			return spec, err
		}

		spec.WakeOnLAN = append(spec.WakeOnLAN, m)
	}

	return spec, nil
}
