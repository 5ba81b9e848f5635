// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"net/http"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// HostsDir has the configuration of registry hosts (mirrors, the image cache), for the CRI plugin and for this package.
const HostsDir = layout.RegistryHostsDir

// registries returns the option to pull through the hosts that are configured in HostsDir, and what will have happened there.
func registries(ctx context.Context) (containerd.RemoteOpt, *Attempts, error) {
	resolver, tried, err := NewResolver(ctx, HostsDir, layout.RegistryCredentials)
	if err != nil {
		return nil, nil, err
	}

	return containerd.WithResolver(resolver), tried, nil
}

// NewResolver returns containerd's resolver with the hosts of a folder, the credentials of a file, and the proxies of this process.
func NewResolver(ctx context.Context, hostsDir, credentialsFile string) (remotes.Resolver, *Attempts, error) {
	credentials, err := readCredentials(credentialsFile)
	if err != nil {
		return nil, nil, err
	}

	tried := &Attempts{credentials: credentials}

	configured := config.ConfigureHosts(ctx, config.HostOptions{
		HostDir:     config.HostDirFromRoot(hostsDir),
		Credentials: credentials.of,
		UpdateClient: func(client *http.Client) error {
			transport, ok := client.Transport.(*http.Transport)
			if !ok {
				return fmt.Errorf("pull through a proxy: containerd's transport is a %T", client.Transport)
			}

			transport.Proxy = outbound.Proxy
			transport.OnProxyConnectResponse = proxyAnswered

			return nil
		},
	})

	return docker.NewResolver(docker.ResolverOptions{Hosts: func(name string) ([]docker.RegistryHost, error) {
		hosts, err := configured(name)

		for _, host := range hosts {
			// Hosts without settings of their own share a client.
			if _, watched := host.Client.Transport.(*watchedTransport); !watched {
				host.Client.Transport = &watchedTransport{host.Client.Transport, tried}
			}
		}

		return hosts, err
	}}), tried, nil
}
