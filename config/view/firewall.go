// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"
	"slices"

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

// IngressAccepts reports whether a new connection by TCP to a port of the machine is accepted from the address of another machine.
func (c *Config) IngressAccepts(port uint16, from netip.Addr) bool {
	blocked, admitted := c.IngressBlocked(), false

	for _, r := range c.IngressRules() {
		if r.PortSelector.Protocol != ProtocolTCP || !slices.ContainsFunc(r.PortSelector.Ports, func(p PortRange) bool { return p.First <= port && port <= p.Last }) {
			continue
		}

		named := slices.ContainsFunc(r.Ingress, func(s IngressSource) bool { return s.Subnet.Contains(from) && !s.Except.Contains(from) })

		switch {
		case named:
			admitted = true
		case !blocked: // the rule blocks its ports for all others
			return false
		}
	}

	return admitted || !blocked
}

// IngressRules are the rules about packets to the machine, in the order of the configuration.
func (c *Config) IngressRules() []*IngressRule { return config.All[*network.NetworkRuleConfig](c.all) }
