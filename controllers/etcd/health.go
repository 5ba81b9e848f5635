// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// healthCheck returns a check of etcd's health endpoint, which fails when the cluster has no leader.
func healthCheck(root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (func(context.Context) error, error) {
	config, err := etcdclient.TLS(root, certs)
	if err != nil {
		return nil, err
	}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConns: 1}}
	url := fmt.Sprintf("https://127.0.0.1:%d/health", healthPort)

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

		return nil
	}, nil
}
