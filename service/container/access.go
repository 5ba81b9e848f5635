// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/imagerules"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// access is how images are read from registries.
type access struct {
	// hosts is the folder of registry hosts, and credentials the file of the machine's own logins. The file of rules by which images may be pulled
	// is beside the latter.
	hosts, credentials string
	// cache is the folder of the image cache.
	cache string
	// login counts instead of the machine's own, if it is set.
	login *Login
}

// Login is how a caller logs in to a registry.
type Login struct {
	// Host is the registry; empty for any.
	Host string
	Credential
}

// machineAccess is how the machine itself reads images.
func machineAccess() access {
	return access{hosts: HostsDir, credentials: layout.RegistryCredentials, cache: layout.ImageCacheDir}
}

// rules reads the rules by which images may be pulled.
func (a access) rules() (imagerules.Rules, error) {
	return imagerules.Read(filepath.Join(filepath.Dir(a.credentials), filepath.Base(layout.ImageRules)))
}

// resolver returns containerd's resolver, which refuses the images that the rules refuse, and what will have happened at registries.
func (a access) resolver(ctx context.Context) (remotes.Resolver, *Attempts, error) {
	resolver, tried, err := a.unruled(ctx)
	if err != nil {
		return nil, nil, err
	}

	rules, err := a.rules()
	if err != nil {
		return nil, nil, err
	}

	if len(rules) > 0 {
		resolver = &ruledResolver{resolver, rules, a}
	}

	return resolver, tried, nil
}

// unruled returns containerd's resolver.
func (a access) unruled(ctx context.Context) (remotes.Resolver, *Attempts, error) {
	credentials, err := readCredentials(a.credentials)
	if err != nil {
		return nil, nil, err
	}

	login := credentials.of

	if a.login != nil {
		login = func(host string) (string, string, error) {
			if a.login.Host != "" && a.login.Host != host {
				return "", "", nil
			}

			return Credentials{host: a.login.Credential}.of(host)
		}
	}

	tried := &Attempts{credentials: credentials}

	configured := config.ConfigureHosts(ctx, config.HostOptions{
		HostDir:     config.HostDirFromRoot(a.hosts),
		Credentials: login,
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
