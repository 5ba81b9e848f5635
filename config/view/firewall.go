// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Types of the ingress firewall.
type (
	IngressRule   = network.NetworkRuleConfig
	IngressSource = network.IngressRule
	PortRange     = network.PortRange
)

// The protocols of an IngressRule.
const (
	ProtocolTCP    = network.ProtocolTCP
	ProtocolUDP    = network.ProtocolUDP
	ProtocolICMP   = network.ProtocolICMP
	ProtocolICMPv6 = network.ProtocolICMPv6
)

// IngressBlocked reports whether packets to the machine are blocked unless a rule accepts them.
func (c *Config) IngressBlocked() bool {
	d := config.Find[*network.NetworkDefaultActionConfig](c.all)

	return d != nil && d.Ingress == network.DefaultActionBlock
}

// IngressRules are the rules about packets to the machine, in the order of the configuration.
func (c *Config) IngressRules() []*IngressRule { return config.All[*network.NetworkRuleConfig](c.all) }
