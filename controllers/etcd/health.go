// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

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
		response, err := p.get(ctx, url)
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

func (p *probe) get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}

	return p.client.Load().Do(request)
}

// live returns a check that fails when etcd gives no answer at all: it hangs. The endpoint /livez reads a key of the member's own database, which
// needs neither a leader nor a quorum (etcdserver/api/etcdhttp/health.go). Every answer counts, also that the read or the certificate was refused: a
// restart helps with none. A member whose database is being defragmented reads nothing until that is done, and is live.
//
// etcd answers only once it has loaded its database and has found its cluster. The supervisor waits for a first answer without limit.
func (p *probe) live(base string) func(context.Context) error {
	return func(ctx context.Context) error {
		readCtx := ctx

		if deadline, limited := ctx.Deadline(); limited {
			var cancel context.CancelFunc

			// The rest of the time is for the metrics.
			readCtx, cancel = context.WithTimeout(ctx, time.Until(deadline)*2/3)
			defer cancel()
		}

		response, err := p.get(readCtx, base+"/livez")
		if err == nil {
			return response.Body.Close()
		}

		if silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ECONNREFUSED); !silent || p.defragments(ctx, base+"/metrics") {
			return nil
		}

		return fmt.Errorf("etcd does not answer: %w", err)
	}
}

// defragmenting is the metric of a member whose database is being defragmented (storage/backend/metrics.go).
var defragmenting = regexp.MustCompile(`(?m)^etcd_disk_defrag_inflight 1$`)

// defragments reports whether the database is being defragmented, by the metrics, which need no database.
func (p *probe) defragments(ctx context.Context, url string) bool {
	response, err := p.get(ctx, url)
	if err != nil {
		return false
	}
	defer response.Body.Close()

	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))

	return err == nil && defragmenting.Match(text)
}
