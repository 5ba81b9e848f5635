// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// Hostname returns the configured hostname, with or without its domain, or "". The document HostnameConfig wins.
func (c *Config) Hostname() string {
	if d := config.Find[*network.HostnameConfig](c.all); d != nil && d.Hostname != "" {
		return string(d.Hostname)
	}

	return c.main.Machine.Network.Hostname
}

// AutoHostname is how a machine without a configured hostname chooses one.
type AutoHostname int

// The ways to choose a hostname.
const (
	// AutoHostnameAny: no document decides. Use the identity if the machine has one, otherwise the address.
	AutoHostnameAny AutoHostname = iota
	// AutoHostnameStable derives the hostname from the machine's identity.
	AutoHostnameStable
	// AutoHostnameAddress derives the hostname from the machine's address.
	AutoHostnameAddress
	// AutoHostnameOff derives none.
	AutoHostnameOff
)

// AutoHostname returns how the machine chooses its hostname. The document HostnameConfig wins over
// machine.features.stableHostname.
func (c *Config) AutoHostname() AutoHostname {
	d := config.Find[*network.HostnameConfig](c.all)

	switch {
	case d != nil && d.Auto == network.AutoHostnameStable:
		return AutoHostnameStable
	case d != nil:
		return AutoHostnameOff
	case IsTrue(c.main.Machine.Features.StableHostname):
		return AutoHostnameStable
	case c.complete:
		return AutoHostnameAddress
	default:
		return AutoHostnameAny
	}
}

// NameServers are the DNS resolvers. If empty, those of DHCP or the default apply.
func (c *Config) NameServers() []netip.Addr { return c.main.Machine.Network.NameServers }

// SearchDomains are the DNS search domains.
func (c *Config) SearchDomains() []string { return c.main.Machine.Network.SearchDomains }

// SearchDomainDisabled reports whether the hostname's domain is not a search domain.
func (c *Config) SearchDomainDisabled() bool {
	return IsTrue(c.main.Machine.Network.DisableSearchDomain)
}

// ExtraHosts are additional entries of /etc/hosts.
func (c *Config) ExtraHosts() []ExtraHost { return c.main.Machine.Network.ExtraHostEntries }

// NodeAddressSortAlgorithm selects the order of the machine's addresses. If empty, the default applies.
func (c *Config) NodeAddressSortAlgorithm() string {
	return c.main.Machine.Features.NodeAddressSortAlgorithm
}
