// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// probeOnce connects to the target of a probe.
func probeOnce(ctx context.Context, spec network.ProbeSpecSpec) error {
	if spec.HTTP.URL.FullPath != "" {
		return probeHTTP(ctx, spec.HTTP)
	}

	return probeTCP(ctx, spec.TCP)
}

func probeTCP(ctx context.Context, spec network.TCPProbeSpec) error {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()

	var dialer net.Dialer

	conn, err := dialer.DialContext(ctx, "tcp", spec.Endpoint)
	if err != nil {
		return err // it names the endpoint
	}

	return conn.Close()
}

// probeClient makes a connection for each request, as the other requests of the machine are made now: through its proxies, with the
// authorities that it trusts. It follows no redirect: the server has answered.
var probeClient = &http.Client{
	Transport:     outbound.Transport{Bundle: layout.CABundle},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func probeHTTP(ctx context.Context, spec network.HTTPProbeSpec) error {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, spec.URL.FullPath, nil)
	if err != nil {
		return err
	}

	response, err := probeClient.Do(request)
	if err != nil {
		return err // it names the URL
	}

	if err := response.Body.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}

	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("get %s: status %s", spec.URL.FullPath, response.Status)
	}

	return nil
}
