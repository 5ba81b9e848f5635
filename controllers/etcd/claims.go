// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// claimInputs returns the inputs of readClaims.
func claimInputs() []controller.Input {
	return []controller.Input{
		controller.In[cluster.EtcdClaimSpec](controller.Weak, ""),
		controller.In[cluster.DiscoverySourceSpec](controller.Weak, ""),
		controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
	}
}

// readClaims returns what discovery knows of requests to start a cluster.
func readClaims(ctx context.Context, r state.Reader) (all claims, err error) {
	var identity cluster.IdentitySpec

	if f := typed.Read(ctx, r, cluster.LocalIdentityID, &identity); f.Err != nil {
		return all, f.Err
	}

	all.own = identity.NodeID

	sources, err := typed.List[cluster.DiscoverySourceSpec](ctx, r, "")
	if err != nil {
		return all, err
	}

	for _, source := range sources {
		all.discovers = all.discovers || source.TypedSpec().Watched && source.TypedSpec().Error == ""
	}

	list, err := typed.List[cluster.EtcdClaimSpec](ctx, r, "")
	if err != nil {
		return all, err
	}

	for _, c := range list {
		switch spec, id := c.TypedSpec(), c.Metadata().ID(); {
		case spec.Claim == cluster.EtcdNone:
		case spec.Local:
			all.own, all.published = id, true
		default:
			all.rivals = append(all.rivals, rival{id: id, name: cmp.Or(spec.Hostname, id), data: spec.Claim == cluster.EtcdData})
		}
	}

	return all, nil
}
