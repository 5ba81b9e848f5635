// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// SourceKind is why a machine knows a discovery source.
type SourceKind uint32

// The kinds.
const (
	// SourceService: the configuration names the service.
	SourceService SourceKind = iota
	// SourceEndpoint: control planes carry the service themselves; this is the address of the control plane in the configuration.
	SourceEndpoint
	// SourceMember: a control plane that is a member of the cluster.
	SourceMember
)

var sourceKinds = enum.Of[SourceKind]("service", "endpoint", "member")

// String returns the name.
func (k SourceKind) String() string { return sourceKinds.Text(k) }

// MarshalText implements encoding.TextMarshaler.
func (k SourceKind) MarshalText() ([]byte, error) { return sourceKinds.Marshal(k) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *SourceKind) UnmarshalText(text []byte) error {
	return sourceKinds.Parse("kind of source", text, k)
}

var discoverySourceDefinition = domain.Type("DiscoverySources",
	"Kind={.kind}", "Endpoint={.endpoint}", "State={.state}", "Watched={.watched}", "Members={.members}", "Last Contact={.lastContact}", "Error={.error}")

// DiscoverySourceSpec is a service through which the machine finds the others. The machine announces itself at all sources, and learns from
// one of them about the others.
type DiscoverySourceSpec struct {
	Kind     SourceKind `yaml:"kind" protobuf:"1"`
	Endpoint string     `yaml:"endpoint" protobuf:"2"`
	// State is that of the connection: connecting, publishing or watching.
	State string `yaml:"state" protobuf:"3"`
	// Watched is set for the source from which the machine learns about the others.
	Watched bool `yaml:"watched" protobuf:"4"`
	// Members is how many machines the source knows beside this one, and Rejected how many it lists that cannot be decrypted or are not valid.
	Members  int `yaml:"members" protobuf:"5"`
	Rejected int `yaml:"rejected,omitempty" protobuf:"6"`
	// LastContact is when the source answered last. It is updated when another field changes, not at each answer.
	LastContact time.Time `yaml:"lastContact,omitempty" protobuf:"7"`
	// Error is why the source is not in use; empty when it is.
	Error string `yaml:"error,omitempty" protobuf:"8"`
	// PublicIP is the address that the source sees this machine at.
	PublicIP netip.Addr `yaml:"publicIP,omitempty" protobuf:"9"`
}

// Definition implements resource.Spec.
func (DiscoverySourceSpec) Definition() *resource.Definition { return discoverySourceDefinition }
