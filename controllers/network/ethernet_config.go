// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// EthernetConfigController takes the settings of network cards from the configuration.
func EthernetConfigController() controller.Controller {
	var (
		cfg    *view.Config
		before remarks
	)

	return frominputs.Reconciler("network.EthernetConfigController", []controller.Output{
		controller.Out[network.EthernetSpecSpec](controller.Shared), controller.Out[network.SpecConditionSpec](controller.Shared),
	}, []resource.Kind{resource.KindOf[network.EthernetSpecSpec](""), resource.KindOf[network.SpecConditionSpec]("")}, frominputs.List{
		anyConfig(&cfg).OrKeep(),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		said := remarks{}

		for _, e := range cfg.Ethernet() {
			spec, err := ethernetSpec(e)
			if err != nil {
				said.leftOut(document.Path(e), err)

				continue
			}

			if err := set(ctx, rt, "", e.Name(), spec); err != nil {
				return err
			}
		}

		said.log(log, before)
		before = said

		return said.publish(ctx, rt)
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
