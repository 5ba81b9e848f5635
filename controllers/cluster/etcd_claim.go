// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// etcdClaim returns what this machine says about its etcd.
func etcdClaim(root string, controlPlane, asked bool) (cluster.EtcdClaim, error) {
	if !controlPlane {
		return cluster.EtcdNone, nil
	}

	// Without its log, etcd has no data.
	logs, err := filepath.Glob(filepath.Join(root, layout.EtcdDataDir, "member", "wal", "*.wal"))

	switch {
	case err != nil:
		return cluster.EtcdNone, fmt.Errorf("etcd data directory: %w", err)
	case len(logs) > 0:
		return cluster.EtcdData, nil
	case asked:
		return cluster.EtcdAsked, nil
	}

	// A request of an earlier boot.
	if _, err := os.Stat(filepath.Join(root, layout.EtcdBootstrapFile)); err == nil {
		return cluster.EtcdAsked, nil
	}

	return cluster.EtcdNone, nil
}

// etcdClaimController lists the machines that have an etcd, or were asked to start one. A machine that was wiped has lost its claim.
func etcdClaimController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "cluster.EtcdClaimController",
		Reads: []controller.Input{
			controller.In[cluster.AffiliateSpec](controller.Weak, ""),
			controller.In[cluster.IdentitySpec](controller.Weak, "", cluster.LocalIdentityID),
		},
		Writes:  []controller.Output{controller.Out[cluster.EtcdClaimSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[cluster.EtcdClaimSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			own, affiliates, err := readAffiliates(ctx, rt)
			if err != nil {
				return err
			}

			for _, a := range current(own, affiliates) {
				if a.Etcd == cluster.EtcdNone {
					continue
				}

				claim := cluster.EtcdClaimSpec{Claim: a.Etcd, Hostname: a.Hostname, Addresses: a.Addresses, Local: a.NodeID == own}
				if err := typed.Set(ctx, rt, "", a.NodeID, claim); err != nil {
					return err
				}
			}

			return nil
		},
	}
}
