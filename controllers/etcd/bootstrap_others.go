// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// existing describes the cluster that another control plane has, or is empty. A machine that says to have data of etcd may be off. A control plane that does not answer is not waited for: it
// may never have been started.
func existing(ctx context.Context, st state.Reader, root string, restore bool) (string, error) {
	known, err := readClaims(ctx, st)
	if err != nil {
		return "", err
	}

	// A cluster that is restored from a snapshot is one that was lost, so the claims are old.
	for _, r := range known.rivals {
		switch {
		case !r.data:
			return r.name + " was asked to start it", nil
		case !restore:
			return r.name + " has data of etcd", nil
		}
	}

	urls, err := peers(ctx, st, root)
	if err != nil || len(urls) == 0 {
		return "", err
	}

	var (
		ca    secrets.EtcdRootSpec
		certs secrets.EtcdCertsSpec
	)

	ok, err := typed.All(typed.Read(ctx, st, secrets.EtcdRootID, &ca), typed.Read(ctx, st, secrets.EtcdID, &certs))

	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", ErrNoCertificates
	}

	var pool etcdclient.Pool

	pool.Use(ca, certs)

	cluster, err := pool.Look(ctx, urls, nil)
	closed := pool.Close()

	switch {
	case errors.Is(err, etcdclient.ErrSilent):
		return "", closed
	case err != nil:
		return "", errors.Join(err, closed)
	default:
		return describe(cluster), closed
	}
}

func describe(cluster quorum.Cluster) string {
	members := make([]string, 0, len(cluster.Members))
	for _, m := range cluster.Members {
		members = append(members, m.String())
	}

	slices.Sort(members)

	return fmt.Sprintf("cluster %s, with the members %s", hexID(cluster.ID), strings.Join(members, ", "))
}
