// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// etcdClaim returns what this machine says about its etcd.
func etcdClaim(root string, controlPlane, asked bool) (cluster.EtcdClaim, error) {
	if !controlPlane {
		return cluster.EtcdNone, nil
	}

	// Without its log, etcd has no data.
	logs, err := filetree.Match(filepath.Join(root, layout.EtcdDataDir, layout.EtcdLogDir), layout.EtcdLogPattern)

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
	return fromAffiliates("cluster.EtcdClaimController", etcdClaims)
}

// etcdClaims returns the claims by the identities of their machines.
func etcdClaims(own string, affiliates []cluster.AffiliateSpec) map[string]cluster.EtcdClaimSpec {
	out := map[string]cluster.EtcdClaimSpec{}

	for _, a := range current(own, affiliates) {
		if a.Etcd != cluster.EtcdNone {
			out[a.NodeID] = cluster.EtcdClaimSpec{Claim: a.Etcd, Hostname: a.Hostname, Addresses: a.Addresses, Local: a.NodeID == own}
		}
	}

	return out
}
