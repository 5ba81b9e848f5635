// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var addressSpecDefinition = domain.Type("AddressSpecs")

// AddressSpecSpec is an address wanted on a link.
type AddressSpecSpec struct {
	Address         netip.Prefix            `yaml:"address" protobuf:"1"`
	LinkName        string                  `yaml:"linkName" protobuf:"2"`
	Family          nethelpers.Family       `yaml:"family" protobuf:"3"`
	Scope           nethelpers.Scope        `yaml:"scope" protobuf:"4"`
	Flags           nethelpers.AddressFlags `yaml:"flags" protobuf:"5"`
	AnnounceWithARP bool                    `yaml:"announceWithARP,omitempty" protobuf:"6"`
	Priority        uint32                  `yaml:"priority,omitempty" protobuf:"8"`
	Layer           ConfigLayer             `yaml:"layer" protobuf:"7"`
}

// Definition implements resource.Spec.
func (AddressSpecSpec) Definition() *resource.Definition { return addressSpecDefinition }

// ID is the identity of the address in namespace network.
func (s AddressSpecSpec) ID() string { return AddressID(s.LinkName, s.Address) }

// ConfigLayer is the layer that the spec comes from.
func (s AddressSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }

// AddressID is the identity of an address: link/prefix.
func AddressID(linkName string, address netip.Prefix) string {
	return linkName + "/" + address.String()
}
