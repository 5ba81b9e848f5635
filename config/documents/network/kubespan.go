// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// KubeSpanConfig joins the machines of the cluster in an encrypted network.
type KubeSpanConfig struct {
	document.Header `yaml:",inline"`
	// Whether the machine is part of the network.
	Enabled *bool `yaml:"enabled,omitempty" protects:"true" maps:"machine.network.kubespan.enabled"`
	// Whether the networks of the machine's pods go through it.
	AdvertiseKubernetesNetworks *bool `yaml:"advertiseKubernetesNetworks,omitempty" maps:"machine.network.kubespan.advertiseKubernetesNetworks"`
	// Whether traffic to a machine that cannot be reached through it takes the usual way, unencrypted.
	AllowDownPeerBypass *bool `yaml:"allowDownPeerBypass,omitempty" maps:"machine.network.kubespan.allowDownPeerBypass"`
	// Whether addresses that machines are seen with are told to the others.
	HarvestExtraEndpoints *bool `yaml:"harvestExtraEndpoints,omitempty" maps:"machine.network.kubespan.harvestExtraEndpoints"`
	// The largest packet, in bytes; 1420 without it.
	MTU uint32 `yaml:"mtu,omitempty" range:"1280,65535" maps:"machine.network.kubespan.mtu"`
	// What the machine tells of itself.
	Filters *KubeSpanFilters `yaml:"filters,omitempty"`
}

// KubeSpanFilters restrict what a machine tells of itself.
type KubeSpanFilters struct {
	// Networks of the machine's addresses that it tells others; with ! in front those that it does not.
	Endpoints []string `yaml:"endpoints,omitempty" maps:"machine.network.kubespan.filters.endpoints"`
	// Networks that it does not tell, though it has them.
	ExcludeAdvertisedNetworks []netip.Prefix `yaml:"excludeAdvertisedNetworks,omitempty" maps:"machine.network.kubespan.filters.excludeAdvertisedNetworks"`
}

var kubeSpan = document.Of[KubeSpanConfig]("KubeSpanConfig", `apiVersion: v1alpha1
kind: KubeSpanConfig
enabled: true
filters:
    endpoints:
        - 0.0.0.0/0
        - '!198.51.100.0/24'
`)

// KubeSpanEndpointsConfig has addresses of the machine in the encrypted network that it cannot see itself.
type KubeSpanEndpointsConfig struct {
	document.Header `yaml:",inline"`
	// The addresses with their ports.
	ExtraAnnouncedEndpoints []netip.AddrPort `yaml:"extraAnnouncedEndpoints" required:"true"`
}

var kubeSpanEndpoints = document.Of[KubeSpanEndpointsConfig]("KubeSpanEndpointsConfig", `apiVersion: v1alpha1
kind: KubeSpanEndpointsConfig
extraAnnouncedEndpoints:
    - 192.0.2.10:51820
`)

// Validate implements document.Validator.
func (c *KubeSpanConfig) Validate(r *document.Report) {
	if c.Filters != nil {
		value.CheckSubnets(c.Filters.Endpoints, func(i int, problem string) { r.Wrong(index("filters.endpoints", i), "%s", problem) })
	}
}
