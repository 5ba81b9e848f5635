// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"cmp"
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

// Access is how images are read from registries. Fields that are empty are the machine's own.
type Access struct {
	// Hosts is the folder of registry hosts, and Credentials the file of logins. The file of rules by which images may be pulled is beside the latter.
	Hosts, Credentials string
	// Cache is the folder of the image cache.
	Cache string

	// login counts instead of those of the file, if it is set.
	login *Login
}

// Login is how a caller logs in to a registry.
type Login struct {
	// Host is the registry; empty for any.
	Host string
	Credential
}

// of returns the user and the password for a host, as containerd asks for them; nothing if they are for another one.
func (l *Login) of(host string) (user, password string, err error) {
	own, err := docker.DefaultHost(l.Host) // of docker.io it is another one
	if err != nil || own != "" && own != host {
		return "", "", err
	}

	return Credentials{host: l.Credential}.of(host)
}

// complete returns the access with all paths.
func (a Access) complete() Access {
	a.Hosts, a.Credentials = cmp.Or(a.Hosts, HostsDir), cmp.Or(a.Credentials, layout.RegistryCredentials)
	a.Cache = cmp.Or(a.Cache, layout.ImageCacheDir)

	return a
}

// rules reads the rules by which images may be pulled.
func (a Access) rules() (imagerules.Rules, error) {
	return imagerules.Read(filepath.Join(filepath.Dir(a.complete().Credentials), filepath.Base(layout.ImageRules)))
}

// resolver returns containerd's resolver, which refuses the images that the rules refuse, and what will have happened at registries.
func (a Access) resolver(ctx context.Context) (remotes.Resolver, *Attempts, error) {
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
func (a Access) unruled(ctx context.Context) (remotes.Resolver, *Attempts, error) {
	a = a.complete()

	credentials, err := readCredentials(a.Credentials)
	if err != nil {
		return nil, nil, err
	}

	login := credentials.of

	if a.login != nil {
		login = a.login.of
	}

	tried := &Attempts{credentials: credentials}

	configured := config.ConfigureHosts(ctx, config.HostOptions{
		HostDir:     config.HostDirFromRoot(a.Hosts),
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
