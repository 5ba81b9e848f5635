// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/discovery/seal"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// discoverydController issues the certificate of discoveryd, and says which cluster it serves, on control planes whose cluster has
// discovery. It stays while an input is missing for a moment.
func discoverydController() controller.Controller {
	var due renewal

	return &controller.Reconciler{
		ControllerName: "secrets.DiscoverydController",
		Reads: []controller.Input{
			controller.In[cluster.ConfigSpec](controller.Weak, "", cluster.ConfigID),
			controller.In[secrets.OSRootSpec](controller.Weak, "", secrets.OSRootID),
			controller.In[secrets.CertSANSpec](controller.Weak, "", secrets.CertSANAPIID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
		},
		Writes:  []controller.Output{controller.Out[secrets.DiscoverydSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[secrets.DiscoverydSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				discovery   cluster.ConfigSpec
				machineType config.MachineTypeSpec
				root        secrets.OSRootSpec
				sans        secrets.CertSANSpec
			)

			wanted, err := typed.All(
				typed.Read(ctx, rt, cluster.ConfigID, &discovery),
				typed.Read(ctx, rt, config.MachineTypeID, &machineType),
			)
			if err != nil || !wanted || !machineType.MachineType.IsControlPlane() || !carries(discovery) {
				return err
			}

			ok, err := typed.All(typed.Read(ctx, rt, secrets.OSRootID, &root), typed.Read(ctx, rt, secrets.CertSANAPIID, &sans))
			if err != nil {
				return err
			}

			if !ok {
				return keep.Outputs[secrets.DiscoverydSpec](ctx, rt, secrets.DiscoverydID)
			}

			return update(ctx, rt, &due, secrets.DiscoverydID, func(next secrets.DiscoverydSpec, now time.Time) (secrets.DiscoverydSpec, time.Time, error) {
				renewAt, err := renew(authority{"machine.ca", root.IssuingCA}, apiLifetime, now, leaf{&next.Server, serving(sans)})
				next.ClusterID = discovery.ServiceClusterID
				next.ProofKey = seal.ProofKey(discovery.ServiceEncryptionKey)

				return next, renewAt, err
			})
		},
	}
}

// carries reports whether control planes carry a discovery service with these settings.
func carries(c cluster.ConfigSpec) bool {
	return c.DiscoveryEnabled && c.ServiceClusterID != "" && len(c.ServiceEncryptionKey) == seal.KeySize
}
