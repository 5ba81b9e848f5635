// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"google.golang.org/grpc/resolver"

	"github.com/seed-59268b81/talos/api/contract"
)

const scheme = "talos"

// endpointResolver passes a fixed list of endpoints to gRPC. The TLS handshake checks each against its own name.
type endpointResolver struct {
	addresses []resolver.Address
}

func newResolver(endpoints []string) (endpointResolver, error) {
	var r endpointResolver

	for _, endpoint := range endpoints {
		host, port, err := splitEndpoint(endpoint)
		if err != nil {
			return r, err
		}

		r.addresses = append(r.addresses, resolver.Address{Addr: net.JoinHostPort(host, port), ServerName: host})
	}

	return r, nil
}

func splitEndpoint(endpoint string) (host, port string, err error) {
	if strings.ContainsAny(endpoint, "/ ") {
		return "", "", fmt.Errorf("endpoint %q: want host, host:port or [IPv6]:port, without a scheme", endpoint)
	}

	host, port, err = net.SplitHostPort(endpoint)
	if err != nil {
		host, port = strings.Trim(endpoint, "[]"), strconv.Itoa(contract.APIPort)
		if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
			return "", "", fmt.Errorf("endpoint %q: want host, host:port or [IPv6]:port", endpoint)
		}
	}

	if host == "" {
		return "", "", fmt.Errorf("endpoint %q: want host, host:port or [IPv6]:port", endpoint)
	}

	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("endpoint %q: port %q is not a number from 1 to 65535", endpoint, port)
	}

	return host, port, nil
}

func (r endpointResolver) target() string { return scheme + ":///endpoints" }

// Build implements resolver.Builder.
func (r endpointResolver) Build(_ resolver.Target, conn resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return r, conn.UpdateState(resolver.State{Addresses: r.addresses})
}

// Scheme implements resolver.Builder.
func (endpointResolver) Scheme() string { return scheme }

// ResolveNow implements resolver.Resolver: the list never changes.
func (endpointResolver) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (endpointResolver) Close() {}
