// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// advertisedPeerController updates this member's address in the cluster when it has changed. etcd itself keeps the address that the
// member was added with.
func advertisedPeerController(endpoint string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "etcd.AdvertisedPeerController",
		Reads: []controller.Input{
			controller.In[etcd.SpecSpec](controller.Weak, "", etcd.SpecID),
			controller.In[serviceres.ServiceSpec](controller.Weak, "", ServiceID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				service serviceres.ServiceSpec
				spec    etcd.SpecSpec
				root    secrets.EtcdRootSpec
				certs   secrets.EtcdCertsSpec
			)

			ok, err := typed.All(
				typed.Read(ctx, rt, ServiceID, &service),
				typed.Read(ctx, rt, etcd.SpecID, &spec),
				typed.Read(ctx, rt, secrets.EtcdRootID, &root),
				typed.Read(ctx, rt, secrets.EtcdID, &certs),
			)
			if err != nil || !ok || !service.Healthy {
				return err
			}

			return updatePeer(ctx, endpoint, spec, root, certs, log)
		},
	}
}

func updatePeer(
	ctx context.Context, endpoint string, spec etcd.SpecSpec, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, log *slog.Logger,
) error {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()

	client, err := etcdclient.New(ctx, root, certs, endpoint)
	if err != nil {
		return err
	}
	defer client.Close()

	members, err := client.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("etcd: list members: %w", err)
	}

	wanted, change := peerChange(members.Members, members.Header.GetMemberId(), spec)
	if !change {
		return nil
	}

	log.InfoContext(ctx, "etcd: the address of this member has changed", "peerURLs", wanted)

	if _, err := client.MemberUpdate(ctx, members.Header.GetMemberId(), wanted); err != nil {
		return fmt.Errorf("etcd: update peer addresses of this member to %v: %w", wanted, err)
	}

	return nil
}

// peerChange returns the URLs that the member should have in the cluster, and whether they differ from those it has.
func peerChange(members []*etcdserverpb.Member, self uint64, spec etcd.SpecSpec) ([]string, bool) {
	wanted := strings.Split(settings.URLs(spec.AdvertisedAddresses, peerPort), ",")

	for _, m := range members {
		if m.GetID() == self {
			have := slices.Sorted(slices.Values(m.GetPeerURLs()))
			want := slices.Sorted(slices.Values(wanted))

			return wanted, !slices.Equal(have, want)
		}
	}

	return nil, false
}
