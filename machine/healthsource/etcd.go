// SPDX-License-Identifier: Apache-2.0

package healthsource

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/health"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Etcd asks real members of etcd, with this system's own certificate.
type Etcd struct{ State state.Reader }

// Members implements health.Etcd.
func (e Etcd) Members(ctx context.Context, endpoint string) ([]health.Member, error) {
	if endpoint == "" {
		endpoint = contract.EtcdURL
	}

	root, err := typed.Find[secrets.EtcdRootSpec](ctx, e.State, "", secrets.EtcdRootID)
	if err != nil {
		return nil, err
	}

	certs, err := typed.Find[secrets.EtcdCertsSpec](ctx, e.State, "", secrets.EtcdID)
	if err != nil {
		return nil, err
	}

	if root == nil || certs == nil {
		return nil, errors.New("the certificates for etcd are not made yet")
	}

	client, err := etcdclient.New(ctx, *root.TypedSpec(), *certs.TypedSpec(), endpoint)
	if err != nil {
		return nil, err
	}
	defer client.Close()

	response, err := client.MemberList(ctx, clientv3.WithSerializable())
	if err != nil {
		return nil, fmt.Errorf("etcd: list the members at %s: %w", endpoint, err)
	}

	var members []health.Member
	for _, m := range response.Members {
		members = append(members, health.Member{
			ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner,
		})
	}

	return members, nil
}
