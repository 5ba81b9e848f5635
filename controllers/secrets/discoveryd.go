// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// discoverydController issues the certificate of discoveryd, and says which cluster it serves, on control planes whose cluster has
// discovery. It stays while an input is missing for a moment.
func discoverydController() controller.Controller {
	return daemon[secrets.DiscoverydSpec]{
		name: "secrets.DiscoverydController", id: secrets.DiscoverydID, keeps: true,
		inputs: []controller.Input{controller.In[cluster.ConfigSpec](controller.Weak, "", cluster.ConfigID)},
		wants: func(ctx context.Context, r state.Reader) (func(*secrets.DiscoverydSpec, secrets.OSRootSpec) *secrets.CertAndKey, error) {
			var discovery cluster.ConfigSpec

			if f := typed.Read(ctx, r, cluster.ConfigID, &discovery); !f.OK || !carries(discovery) {
				return nil, f.Err
			}

			return func(next *secrets.DiscoverydSpec, _ secrets.OSRootSpec) *secrets.CertAndKey {
				next.ClusterID = discovery.ServiceClusterID
				next.ProofKey = seal.ProofKey(discovery.ServiceEncryptionKey)

				return &next.Server
			}, nil
		},
	}.controller()
}

// carries reports whether control planes carry a discovery service with these settings.
func carries(c cluster.ConfigSpec) bool {
	return c.DiscoveryEnabled && c.ServiceClusterID != "" && len(c.ServiceEncryptionKey) == seal.KeySize
}
