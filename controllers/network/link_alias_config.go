// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/network/linkalias"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// LinkAliasConfigController chooses the network cards that the configuration gives a second name.
func LinkAliasConfigController() controller.Controller {
	var (
		cfg     *view.Config
		chooser linkalias.Chooser
	)

	return frominputs.Reconciler("network.LinkAliasConfigController", []controller.Output{
		controller.Out[network.LinkAliasSpecSpec](controller.Exclusive), controller.Out[network.SpecConditionSpec](controller.Shared),
	}, []resource.Kind{resource.KindOf[network.LinkAliasSpecSpec](""), resource.KindOf[network.SpecConditionSpec]("")}, frominputs.List{
		anyConfig(&cfg).OrKeep(), frominputs.Also(controller.In[network.LinkStatusSpec](controller.Weak, "")),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		settings := cfg.LinkAliases()
		if len(settings) == 0 {
			return nil
		}

		items, err := typed.List[network.LinkStatusSpec](ctx, rt, "")
		if err != nil {
			return err
		}

		links := map[string]network.LinkStatusSpec{}
		for _, l := range items {
			links[l.Metadata().ID()] = *l.TypedSpec()
		}

		aliases, conditions := chooser.Choose(settings, links)

		for link, alias := range aliases {
			if err := set(ctx, rt, "", link, network.LinkAliasSpecSpec{Alias: alias}); err != nil {
				return err
			}
		}

		for name, condition := range conditions {
			if err := set(ctx, rt, "", network.SpecConditionID(network.ConditionAlias, name), condition); err != nil {
				return err
			}
		}

		return nil
	})
}
