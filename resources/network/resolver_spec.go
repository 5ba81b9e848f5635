// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var resolverSpecDefinition = domain.Type("ResolverSpecs")

// ResolverSpecSpec has the name servers that one layer proposes.
type ResolverSpecSpec struct {
	DNSServers              []netip.Addr     `yaml:"dnsServers" protobuf:"1"`
	NameServers             []NameServerSpec `yaml:"nameServers,omitempty" protobuf:"4"`
	Layer                   ConfigLayer      `yaml:"layer" protobuf:"2"`
	SearchDomains           []string         `yaml:"searchDomains,omitempty" protobuf:"3"`
	SearchDomainsOverridden bool             `yaml:"searchDomainsOverridden,omitempty" protobuf:"5"`
}

// Definition implements resource.Spec.
func (ResolverSpecSpec) Definition() *resource.Definition { return resolverSpecDefinition }

// NameServerSpec is a name server with its protocol.
type NameServerSpec struct {
	Addr          netip.Addr             `yaml:"addr" protobuf:"1"`
	Protocol      nethelpers.DNSProtocol `yaml:"protocol" protobuf:"2"`
	TLSServerName string                 `yaml:"tlsServerName,omitempty" protobuf:"3"`
}

// ID is the identity of the spec in namespace network.
func (ResolverSpecSpec) ID() string { return ResolverID }

// ConfigLayer is the layer that the spec comes from.
func (s ResolverSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }
