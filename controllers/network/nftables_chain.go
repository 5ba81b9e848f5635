// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/controllers/network/packetfilter"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/nft"
)

// nfTablesChainController sets the machine's table of the packet filter to the NfTablesChains, in one transaction: if the kernel refuses it,
// the rules stay as they are. Its outputs are the conditions of the chains.
func nfTablesChainController(filter nft.Filter) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "network.NfTablesChainController",
		Reads:          []controller.Input{controller.In[network.NfTablesChainSpec](controller.Weak, "")},
		Writes:         []controller.Output{controller.Out[network.SpecConditionSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[network.SpecConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			items, err := typed.List[network.NfTablesChainSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			chains := map[string]network.NfTablesChainSpec{}

			for _, c := range items {
				if c.Metadata().Phase() == resource.PhaseRunning {
					chains[c.Metadata().ID()] = *c.TypedSpec()
				}
			}

			condition := network.SpecConditionSpec{State: network.SpecApplied}

			refused := filterPackets(filter, chains, log)
			if refused != nil {
				condition = network.SpecConditionSpec{State: network.SpecRefused, Cause: refused.Error()}
			}

			for id := range chains {
				if err := set(ctx, rt, "", network.SpecConditionID(network.ConditionChain, id), condition); err != nil {
					return err
				}
			}

			return refused // the conditions of chains that are gone stay: so do their rules
		},
	}
}

// filterPackets makes the changes of the kernel's table that the chains need.
func filterPackets(filter nft.Filter, chains map[string]network.NfTablesChainSpec, log *slog.Logger) error {
	if filter == nil {
		if len(chains) == 0 {
			return nil
		}

		return nft.ErrAbsent
	}

	want, err := packetfilter.Table(chains)
	if err != nil {
		return err
	}

	have, err := filter.Read()

	switch {
	case errors.Is(err, nft.ErrAbsent) && len(chains) == 0:
		return nil // there are no rules either
	case err != nil: // also without a packet filter: its module may be loaded later
		return err
	}

	changes := nft.Diff(have, want)
	if changes.Empty() {
		return nil
	}

	if err := filter.Apply(changes); err != nil {
		return err
	}

	log.Info("packet filter changed", "chains", len(changes.Chains), "sets", len(changes.Elements))

	return nil
}
