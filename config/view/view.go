// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Config is the merged view of a configuration. It is read-only: callers must not change the values that it returns.
type Config struct {
	main       *v1alpha1.Config
	hostname   *network.HostnameConfig // nil without one
	resolver   *network.ResolverConfig // nil without one
	probes     probes
	vips       []*network.Layer2VIPConfig
	timeSync   *network.TimeSyncConfig // nil without one
	hcloudVIPs []*network.HCloudVIPConfig
	complete   bool
}

// Of returns the view of a configuration. The view of nil has the defaults.
func Of(cfg *config.Config) *Config {
	main, complete := overlay.Of(cfg)

	return &Config{
		main: main, complete: complete,
		hostname:   config.Find[*network.HostnameConfig](cfg),
		resolver:   config.Find[*network.ResolverConfig](cfg),
		timeSync:   config.Find[*network.TimeSyncConfig](cfg),
		probes:     probes{http: config.All[*network.HTTPProbeConfig](cfg), tcp: config.All[*network.TCPProbeConfig](cfg)},
		vips:       config.All[*network.Layer2VIPConfig](cfg),
		hcloudVIPs: config.All[*network.HCloudVIPConfig](cfg),
	}
}

// Complete reports whether the configuration has the main document, which describes a machine and its cluster.
func (c *Config) Complete() bool { return c.complete }
