// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes"

	"github.com/seed-59268b81/talos/layout"
)

// HostsDir has the configuration of registry hosts (mirrors, the image cache), for the CRI plugin and for this package.
const HostsDir = layout.RegistryHostsDir

// from returns the option to pull through the hosts that are configured, and what will have happened there.
func from(ctx context.Context, a Access) (containerd.RemoteOpt, *Attempts, error) {
	resolver, tried, err := a.resolver(ctx)
	if err != nil {
		return nil, nil, err
	}

	return containerd.WithResolver(resolver), tried, nil
}

// NewResolver returns containerd's resolver with the hosts of a folder, the credentials of a file, and the proxies of this process. It refuses
// images by the rules of the file layout.ImageRules beside that of the credentials.
func NewResolver(ctx context.Context, hostsDir, credentialsFile string) (remotes.Resolver, *Attempts, error) {
	return Access{Hosts: hostsDir, Credentials: credentialsFile}.resolver(ctx)
}
