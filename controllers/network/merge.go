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

// layered is a spec that several layers may propose.
type layered interface {
	resource.Spec
	ID() string
	ConfigLayer() network.ConfigLayer
}

// proposal is a spec with the id that it has in namespace network-config.
type proposal[S layered] struct {
	id   string
	spec S
}

// winners merges proposals: for each ID the highest layer wins, and within a layer the first id. If combine is set, it completes the
// winner from the losers, one after the other.
func winners[S layered](proposals []proposal[S], combine func(winner, loser S) S) map[string]S {
	slices.SortStableFunc(proposals, func(a, b proposal[S]) int {
		return cmp.Or(b.spec.ConfigLayer().Compare(a.spec.ConfigLayer()), cmp.Compare(a.id, b.id))
	})

	out := map[string]S{}

	for _, p := range proposals {
		id := p.spec.ID()

		winner, ok := out[id]

		switch {
		case !ok:
			out[id] = p.spec
		case combine != nil:
			out[id] = combine(winner, p.spec)
		}
	}

	return out
}

// mergeController writes the winners of S to namespace network.
func mergeController[S layered](name string, combine func(winner, loser S) S) controller.Controller {
	return mergeCompleted(name, combine, func(p []proposal[S]) []proposal[S] { return p })
}

// mergeCompleted is mergeController with a function that first completes the proposals.
func mergeCompleted[S layered](name string, combine func(winner, loser S) S, complete func([]proposal[S]) []proposal[S]) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{controller.In[S](controller.Weak, network.ConfigNamespaceName)},
		Writes:         []controller.Output{controller.Out[S](controller.Shared, network.NamespaceName)},
		Cleanup:        []resource.Kind{resource.KindOf[S](network.NamespaceName)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			items, err := typed.List[S](ctx, rt, network.ConfigNamespaceName)
			if err != nil {
				return err
			}

			proposals := make([]proposal[S], 0, len(items))

			for _, item := range items {
				if item.Metadata().Phase() == resource.PhaseRunning {
					proposals = append(proposals, proposal[S]{item.Metadata().ID(), *item.TypedSpec()})
				}
			}

			for id, spec := range winners(complete(proposals), combine) {
				if err := set(ctx, rt, network.NamespaceName, id, spec); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// keepGivenName completes HostnameSpecs. The name of a server stays until the machine stops or a server gives another name, even if the
// server or the card is removed: it is the name of the Kubernetes node, which must not change.
func keepGivenName() func([]proposal[network.HostnameSpecSpec]) []proposal[network.HostnameSpecSpec] {
	var given []proposal[network.HostnameSpecSpec] // at most one

	return func(proposals []proposal[network.HostnameSpecSpec]) []proposal[network.HostnameSpecSpec] {
		now := slices.DeleteFunc(slices.Clone(proposals), func(p proposal[network.HostnameSpecSpec]) bool { return p.spec.Layer != network.LayerOperator })
		if len(now) == 0 {
			return append(proposals, given...)
		}

		// Of several servers, the one that gave the name has precedence.
		if !slices.ContainsFunc(now, func(p proposal[network.HostnameSpecSpec]) bool { return len(given) > 0 && p.id == given[0].id }) {
			given = []proposal[network.HostnameSpecSpec]{slices.MinFunc(now, func(a, b proposal[network.HostnameSpecSpec]) int { return cmp.Compare(a.id, b.id) })}
		}

		for _, p := range now {
			if p.id == given[0].id {
				given[0] = p
			}
		}

		others := slices.DeleteFunc(slices.Clone(proposals), func(p proposal[network.HostnameSpecSpec]) bool { return p.spec.Layer == network.LayerOperator })

		return append(others, given...)
	}
}

// combineLinks merges LinkSpecs: a layer may set the MTU only.
func combineLinks(winner, loser network.LinkSpecSpec) network.LinkSpecSpec {
	if winner.Kind == "" && loser.Kind != "" { // a logical link stays what it is
		merged := loser
		merged.Layer, merged.Up = winner.Layer, winner.Up
		merged.MTU = cmp.Or(winner.MTU, loser.MTU)
		merged.Multicast = cmp.Or(winner.Multicast, loser.Multicast)

		return merged
	}

	winner.MTU = cmp.Or(winner.MTU, loser.MTU)

	winner.Multicast = cmp.Or(winner.Multicast, loser.Multicast)

	if winner.MasterName() == "" {
		winner.BondSlave, winner.BridgeSlave, winner.VRFSlave = loser.BondSlave, loser.BridgeSlave, loser.VRFSlave
	}

	return winner
}

// combineResolvers merges ResolverSpecs: servers and search domains win separately, and those of one layer (two DHCP clients) are joined.
func combineResolvers(winner, loser network.ResolverSpecSpec) network.ResolverSpecSpec {
	same := winner.Layer == loser.Layer

	if len(winner.DNSServers) == 0 || same {
		winner.DNSServers, winner.NameServers = union(winner.DNSServers, loser.DNSServers), union(winner.NameServers, loser.NameServers)
	}

	if !winner.SearchDomainsOverridden && (len(winner.SearchDomains) == 0 || same) {
		winner.SearchDomains = union(winner.SearchDomains, loser.SearchDomains)
		winner.SearchDomainsOverridden = loser.SearchDomainsOverridden
	}

	return winner
}

// combineTimeServers merges TimeServerSpecs; those of one layer are joined.
func combineTimeServers(winner, loser network.TimeServerSpecSpec) network.TimeServerSpecSpec {
	if winner.Layer == loser.Layer {
		winner.NTPServers = union(winner.NTPServers, loser.NTPServers)
	}

	return winner
}

// union returns a, then the elements of b that are not in a; it changes neither.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)

	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}

	return out
}
