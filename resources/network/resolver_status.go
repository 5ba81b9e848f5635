// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var resolverStatusDefinition = &resource.Definition{
	Type:             "ResolverStatuses.net.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"resolvers"},
	PrintColumns: []resource.PrintColumn{
		{Name: "Resolvers", JSONPath: "{.dnsServers}"},
		{Name: "Search Domains", JSONPath: "{.searchDomains}"},
	},
}

// ResolverStatusSpec has the name servers in use.
type ResolverStatusSpec struct {
	DNSServers    []netip.Addr     `yaml:"dnsServers" protobuf:"1"`
	NameServers   []NameServerSpec `yaml:"nameServers,omitempty" protobuf:"4"`
	SearchDomains []string         `yaml:"searchDomains" protobuf:"2"`
}

// Definition implements resource.Spec.
func (ResolverStatusSpec) Definition() *resource.Definition { return resolverStatusDefinition }
