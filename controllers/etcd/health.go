// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// errJoining is the health of a member without a vote.
var errJoining = errors.New("etcd is joining the cluster: see talosctl get etcdmembershipstatuses")

// probe asks etcd for its health. A check that runs for as long as etcd does uses the present certificate: those that were issued while the clock
// was wrong are replaced, and etcd does not accept them.
type probe struct {
	client  atomic.Pointer[http.Client]
	ca, crt string
}

// use sets the certificates.
func (p *probe) use(root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) error {
	ca, crt := string(root.EtcdCA.Crt), string(certs.EtcdAdmin.Crt)
	if p.client.Load() != nil && p.ca == ca && p.crt == crt {
		return nil
	}

	config, err := etcdclient.TLS(root, certs)
	if err != nil {
		return err
	}

	p.ca, p.crt = ca, crt

	before := p.client.Swap(&http.Client{Transport: &http.Transport{TLSClientConfig: config, MaxIdleConns: 1}})
	if before != nil {
		before.CloseIdleConnections()
	}

	return nil
}

// check returns a check of the health endpoint at a URL, which fails when the cluster has no leader. A member that is joining serves no clients
// yet.
func (p *probe) check(url string, joining *atomic.Bool) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("etcd health: %w", err)
		}

		response, err := p.client.Load().Do(request)
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
	}
}
