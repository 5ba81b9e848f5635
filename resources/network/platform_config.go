// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// PlatformConfigActiveID is the id of what the platform says in this boot, PlatformConfigCachedID of what it said before: that is in use until
// the platform answers.
const (
	PlatformConfigActiveID = "active"
	PlatformConfigCachedID = "cached"
)

// ExternalLink is the LinkName of addresses that the platform translates to those of the machine. No link has it.
const ExternalLink = "external"

var platformConfigDefinition = domain.Sensitive().Type("PlatformConfigs")

// PlatformConfigSpec is what the platform says about the machine and its network.
type PlatformConfigSpec struct {
	Addresses   []AddressSpecSpec            `yaml:"addresses"             protobuf:"1"`
	Links       []LinkSpecSpec               `yaml:"links"                 protobuf:"2"`
	Routes      []RouteSpecSpec              `yaml:"routes"                protobuf:"3"`
	Hostnames   []HostnameSpecSpec           `yaml:"hostnames"             protobuf:"4"`
	Resolvers   []ResolverSpecSpec           `yaml:"resolvers"             protobuf:"5"`
	TimeServers []TimeServerSpecSpec         `yaml:"timeServers"           protobuf:"6"`
	Operators   []OperatorSpecSpec           `yaml:"operators"             protobuf:"7"`
	ExternalIPs []netip.Addr                 `yaml:"externalIPs,omitempty" protobuf:"8"`
	Probes      []ProbeSpecSpec              `yaml:"probes,omitempty"      protobuf:"9"`
	Metadata    runtime.PlatformMetadataSpec `yaml:"metadata,omitempty"    protobuf:"10"`
}

// Definition implements resource.Spec.
func (PlatformConfigSpec) Definition() *resource.Definition { return platformConfigDefinition }
