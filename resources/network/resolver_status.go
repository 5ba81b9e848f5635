// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var resolverStatusDefinition = domain.Alias("resolvers").Type("ResolverStatuses",
	"Resolvers={.dnsServers}", "Search Domains={.searchDomains}")

// ResolverStatusSpec has the name servers in use.
type ResolverStatusSpec struct {
	DNSServers    []netip.Addr     `yaml:"dnsServers" protobuf:"1"`
	NameServers   []NameServerSpec `yaml:"nameServers,omitempty" protobuf:"4"`
	SearchDomains []string         `yaml:"searchDomains" protobuf:"2"`
}

// Definition implements resource.Spec.
func (ResolverStatusSpec) Definition() *resource.Definition { return resolverStatusDefinition }
