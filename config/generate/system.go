// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config/documents/block"
	"github.com/seed-59268b81/talos/config/documents/cluster"
	"github.com/seed-59268b81/talos/config/documents/cri"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/documents/runtime"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/layout"
)

// The discovery service that machines use unless they are told another.
const (
	discoveryName = "default"
	discoveryURL  = "https://discovery.talos.dev/"
)

// trimInterval is how often file systems tell their disks which blocks they do not use.
const trimInterval = 7 * 24 * time.Hour

// system returns the documents about the system itself that follow the hostname.
func (in *input) system() []any {
	ephemeral := &block.VolumeConfig{Named: named[block.VolumeConfig](layout.PartitionEphemeral)}
	ephemeral.Mount.Secure = new(true)

	all := []any{
		&network.ResolverConfig{
			Header:  header[network.ResolverConfig](),
			HostDNS: network.HostDNS{Enabled: new(true), ForwardKubeDNSToHost: new(true)},
		},
		&cluster.DiscoveryIdentityConfig{
			Header: header[cluster.DiscoveryIdentityConfig](), ClusterID: in.Secrets.Cluster.ID, ClusterSecret: in.Secrets.Cluster.Secret,
		},
	}

	if !in.NoClusterDiscovery {
		url, _ := v1alpha1.ParseURL(discoveryURL)
		all = append(all, &cluster.DiscoveryServiceConfig{Named: named[cluster.DiscoveryServiceConfig](discoveryName), Endpoint: url})
	}

	all = append(all, ephemeral,
		&block.FilesystemTrimConfig{Header: header[block.FilesystemTrimConfig](), Interval: trimInterval},
		&runtime.SecurityProfileConfig{Header: header[runtime.SecurityProfileConfig](), WorkloadIsolation: new(true)},
	)

	if !in.NoInstall {
		all = append(all, in.install())
	}

	return append(all, in.mirrors()...)
}

// install returns the document that installs the system to the disk, and starts it from there.
func (in *input) install() any {
	out := &runtime.UnattendedInstallConfig{Header: header[runtime.UnattendedInstallConfig](), Reboot: new(true)}
	out.Installer.Image = value.Image(in.InstallImage)
	out.Provisioning.DiskSelector.Match = value.DiskExpression(fmt.Sprintf("disk.dev_path == %q", in.InstallDisk))

	return out
}

// mirrors returns a document for each registry that has mirrors.
func (in *input) mirrors() (all []any) {
	for _, host := range slices.Sorted(maps.Keys(in.RegistryMirrors)) {
		mirror := &cri.RegistryMirrorConfig{Named: named[cri.RegistryMirrorConfig](host)}

		for _, endpoint := range in.RegistryMirrors[host] {
			url, _ := v1alpha1.ParseURL(endpoint) // newInput has checked it

			mirror.Endpoints = append(mirror.Endpoints, cri.MirrorEndpoint{URL: url})
		}

		all = append(all, mirror)
	}

	return all
}
