// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"net/netip"
	"slices"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// ResolverConfig says how names are resolved, on the machine and, through it, in pods.
type ResolverConfig struct {
	document.Header `yaml:",inline"`
	// The DNS servers, in their order. Without any they come from DHCP or the platform.
	NameServers []NameServer `yaml:"nameservers,omitempty"`
	// Domains that are tried for names without a dot.
	SearchDomains SearchDomains `yaml:"searchDomains,omitempty"`
	// The machine's own DNS server.
	HostDNS HostDNS `yaml:"hostDNS,omitempty"`
}

// NameServer is a DNS server.
type NameServer struct {
	// Address of the server.
	Address netip.Addr `yaml:"address" required:"true" like:"machine.network.nameservers"`
	// How it is asked: Do53 over UDP and TCP, DoT over TLS, DoH over HTTPS.
	Protocol DNSProtocol `yaml:"protocol,omitempty"`
	// The name in the certificate of a server that is asked over TLS or HTTPS.
	TLSServerName value.Hostname `yaml:"tlsServerName,omitempty"`
}

// DNSProtocol is how a DNS server is asked.
type DNSProtocol string

// The protocols.
const (
	DNSProtocolDo53 DNSProtocol = "Do53"
	DNSProtocolDoT  DNSProtocol = "DoT"
	DNSProtocolDoH  DNSProtocol = "DoH"
)

// Values implements document.Enum.
func (DNSProtocol) Values() []string {
	return document.EnumOf(DNSProtocolDo53, DNSProtocolDoT, DNSProtocolDoH)
}

// SearchDomains are tried for names without a dot.
type SearchDomains struct {
	// The domains, in their order.
	Domains []value.LookupName `yaml:"domains,omitempty" maps:"machine.network.searchDomains"`
	// Whether the domain of the hostname is not tried.
	DisableDefault *bool `yaml:"disableDefault,omitempty" maps:"machine.network.disableSearchDomain"`
}

// HostDNS is the machine's own DNS server, which asks the others and keeps their answers.
type HostDNS struct {
	// Whether there is one.
	Enabled *bool `yaml:"enabled,omitempty" maps:"machine.features.hostDNS.enabled"`
	// Whether the DNS server of Kubernetes asks it too.
	ForwardKubeDNSToHost *bool `yaml:"forwardKubeDNSToHost,omitempty" maps:"machine.features.hostDNS.forwardKubeDNSToHost"`
	// Whether it knows the names of the members of the cluster.
	ResolveMemberNames *bool `yaml:"resolveMemberNames,omitempty" maps:"machine.features.hostDNS.resolveMemberNames"`
}

var resolver = document.Of[ResolverConfig]("ResolverConfig", `apiVersion: v1alpha1
kind: ResolverConfig
nameservers:
    - address: 192.0.2.53
    - address: 2001:db8::53
      protocol: DoT
      tlsServerName: dns.example.com
searchDomains:
    domains:
        - example.com
hostDNS:
    enabled: true
    forwardKubeDNSToHost: true
`)

// Encrypted reports whether the server is asked over TLS or HTTPS.
func (s *NameServer) Encrypted() bool {
	return s.Protocol == DNSProtocolDoT || s.Protocol == DNSProtocolDoH
}

// Validate implements document.Validator.
func (c *ResolverConfig) Validate(r *document.Report) {
	on := c.HostDNS.Enabled != nil && *c.HostDNS.Enabled

	for i, s := range c.NameServers {
		if s.TLSServerName != "" && !s.Encrypted() {
			r.Wrong(index("nameservers", i)+".tlsServerName", "is for the protocols %s and %s only", DNSProtocolDoT, DNSProtocolDoH)
		}
	}

	for key, set := range map[string]*bool{"forwardKubeDNSToHost": c.HostDNS.ForwardKubeDNSToHost, "resolveMemberNames": c.HostDNS.ResolveMemberNames} {
		if set != nil && *set && !on {
			r.Wrong("hostDNS."+key, "needs hostDNS.enabled: true")
		}
	}
}

// Overlay implements overlay.Overlayer.
func (c *ResolverConfig) Overlay(main *v1alpha1.Config) {
	for _, s := range c.NameServers {
		main.Machine.Network.NameServers = append(slices.Clip(main.Machine.Network.NameServers), s.Address)
	}
}
