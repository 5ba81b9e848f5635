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
	main     *v1alpha1.Config
	hostname *network.HostnameConfig // nil without one
	complete bool

	defaultAction *network.NetworkDefaultActionConfig // nil without one
	ingressRules  []*network.NetworkRuleConfig
	ethernet      []*network.EthernetConfig
}

// Of returns the view of a configuration. The view of nil has the defaults.
func Of(cfg *config.Config) *Config {
	main, complete := overlay.Of(cfg)

	return &Config{
		main: main, hostname: config.Find[*network.HostnameConfig](cfg), complete: complete,
		defaultAction: config.Find[*network.NetworkDefaultActionConfig](cfg), ingressRules: config.All[*network.NetworkRuleConfig](cfg),
		ethernet: config.All[*network.EthernetConfig](cfg),
	}
}

// Complete reports whether the configuration has the main document, which describes a machine and its cluster.
func (c *Config) Complete() bool { return c.complete }
