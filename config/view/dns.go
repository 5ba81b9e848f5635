// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/documents/network"
)

// The protocols of name servers.
const (
	DNSProtocolDo53 = network.DNSProtocolDo53
	DNSProtocolDoT  = network.DNSProtocolDoT
	DNSProtocolDoH  = network.DNSProtocolDoH
)

// DNSProtocol is how a name server is asked.
type DNSProtocol = network.DNSProtocol

// NameServer is a DNS resolver with its protocol.
type NameServer = network.NameServer

// NameServerSettings are the DNS resolvers of the document ResolverConfig. Those of the main document have no settings.
func (c *Config) NameServerSettings() []NameServer {
	d := config.Find[*network.ResolverConfig](c.all)
	if d == nil {
		return nil
	}

	return d.NameServers
}

// HostDNSEnabled reports whether the machine has a DNS server of its own. Before it is configured it has one.
func (c *Config) HostDNSEnabled() bool {
	return IsTrueOr(c.main.Machine.Features.HostDNS.Enabled, !c.complete)
}

// HostDNSForPods reports whether the DNS server of Kubernetes asks that of the machine.
func (c *Config) HostDNSForPods() bool {
	return c.HostDNSEnabled() && IsTrue(c.main.Machine.Features.HostDNS.ForwardKubeDNSToHost)
}

// HostDNSKnowsMembers reports whether the DNS server of the machine knows the names of the cluster's members.
func (c *Config) HostDNSKnowsMembers() bool {
	return c.HostDNSEnabled() && IsTrue(c.main.Machine.Features.HostDNS.ResolveMemberNames)
}
