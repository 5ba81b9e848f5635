// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// errJoining is the health of a member without a vote.
var errJoining = errors.New("etcd is joining the cluster: see talosctl get etcdmembershipstatuses")

// healthCheck returns a check of etcd's health endpoint, which fails when the cluster has no leader. A member that is joining serves no
// clients yet.
func healthCheck(at netip.Addr, joining *atomic.Bool, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (func(context.Context) error, error) {
	config, err := etcdclient.TLS(root, certs)
	if err != nil {
		return nil, err
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConns: 1}}
	url := settings.URL(at, healthPort) + "/health"

	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("etcd health: %w", err)
		}

		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("etcd health: %w", err)
		}
		defer response.Body.Close()

		var health struct{ Health, Reason string }

		if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&health); err != nil {
			return fmt.Errorf("etcd health: status %s: %w", response.Status, err)
		}

		if health.Health != "true" {
			return fmt.Errorf("etcd is not healthy: %s", health.Reason)
		}

		if joining.Load() {
			return errJoining
		}

		return nil
	}, nil
}
