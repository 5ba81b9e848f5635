// SPDX-License-Identifier: Apache-2.0

package healthsource

import (
	"cmp"
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

// Etcd reads from members of etcd with this system's own certificate.
type Etcd struct{ State state.Reader }

// Members implements health.Etcd.
func (e Etcd) Members(ctx context.Context, endpoint string) ([]health.Member, error) {
	endpoint = cmp.Or(endpoint, contract.EtcdURL)

	var (
		root  secrets.EtcdRootSpec
		certs secrets.EtcdCertsSpec
	)

	ready, err := typed.All(typed.Read(ctx, e.State, secrets.EtcdRootID, &root), typed.Read(ctx, e.State, secrets.EtcdID, &certs))
	if err != nil {
		return nil, err
	}

	if !ready {
		return nil, errors.New("the certificates for etcd are not issued yet")
	}

	client, err := etcdclient.New(ctx, root, certs, endpoint)
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
