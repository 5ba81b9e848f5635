// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/network/ingress"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
)

// NfTablesChainConfigController makes the chains of the ingress firewall. If the configuration or the machine's addresses go missing, the
// chains stay as they are: nothing is opened by that.
func NfTablesChainConfigController() controller.Controller {
	var (
		cfg     *view.Config
		current network.NodeAddressSpec
	)

	return frominputs.Controller[network.NfTablesChainSpec]("network.NfTablesChainConfigController", controller.Shared, frominputs.List{
		anyConfig(&cfg).OrKeep(),
		frominputs.Of(network.NodeAddressCurrentID, &current).Optional(),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		chains := ingress.Chains(cfg, current.IPs())

		for id, spec := range chains {
			// The chain for redirected packets waits for the addresses; the other one does not.
			if id == ingress.Prerouting && len(current.Addresses) == 0 {
				continue
			}

			if err := set(ctx, rt, "", id, spec); err != nil {
				return err
			}
		}

		if len(chains) > 0 && len(current.Addresses) == 0 {
			return controller.ErrSkip
		}

		return nil
	})
}

// anyConfig reads the active configuration, also one that does not describe a whole machine.
func anyConfig(into **view.Config) frominputs.Input {
	return frominputs.Input{Declared: fromconfig.Input(), Read: func(ctx context.Context, r state.Reader) typed.Found {
		var spec config.MachineConfigSpec

		found := typed.Read(ctx, r, config.ActiveID, &spec)
		*into = spec.View()

		return found
	}}
}
