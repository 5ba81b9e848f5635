// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config/documents/network"
)

// Hostname is the chosen name of the machine, with its domain or without; empty when none is chosen. The document
// HostnameConfig wins.
func (c *Config) Hostname() string {
	if c.hostname != nil && c.hostname.Hostname != "" {
		return string(c.hostname.Hostname)
	}

	return c.main.Machine.Network.Hostname
}

// AutoHostname is how a machine without a chosen name names itself.
type AutoHostname int

// The ways to make a hostname.
const (
	// AutoHostnameAny is by the identity if the machine has one, otherwise by the address: no document decides.
	AutoHostnameAny AutoHostname = iota
	// AutoHostnameStable is by the machine's identity.
	AutoHostnameStable
	// AutoHostnameAddress is by the machine's address.
	AutoHostnameAddress
	// AutoHostnameOff makes none.
	AutoHostnameOff
)

// AutoHostname is how the machine names itself. The document HostnameConfig wins over machine.features.stableHostname.
func (c *Config) AutoHostname() AutoHostname {
	switch {
	case c.hostname != nil && c.hostname.Auto == network.AutoHostnameStable:
		return AutoHostnameStable
	case c.hostname != nil:
		return AutoHostnameOff
	case IsTrue(c.main.Machine.Features.StableHostname):
		return AutoHostnameStable
	case c.complete:
		return AutoHostnameAddress
	default:
		return AutoHostnameAny
	}
}

// Devices are the settings of links.
func (c *Config) Devices() []Device { return c.main.Machine.Network.Interfaces }

// NameServers are the resolvers; empty for those of DHCP or the default.
func (c *Config) NameServers() []netip.Addr { return c.main.Machine.Network.NameServers }

// SearchDomains are tried for names without a dot.
func (c *Config) SearchDomains() []string { return c.main.Machine.Network.SearchDomains }

// SearchDomainDisabled reports whether the hostname's domain is not a search domain.
func (c *Config) SearchDomainDisabled() bool {
	return IsTrue(c.main.Machine.Network.DisableSearchDomain)
}

// ExtraHosts are lines of /etc/hosts.
func (c *Config) ExtraHosts() []ExtraHost { return c.main.Machine.Network.ExtraHostEntries }

// NodeAddressSortAlgorithm is the order of the machine's addresses; empty for the default.
func (c *Config) NodeAddressSortAlgorithm() string {
	return c.main.Machine.Features.NodeAddressSortAlgorithm
}
