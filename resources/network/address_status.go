// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var addressStatusDefinition = domain.Alias("address", "addresses").Type("AddressStatuses", "Address={.address}", "Link={.linkName}")

// AddressStatusSpec is an address as the kernel has it.
type AddressStatusSpec struct {
	Address   netip.Prefix            `yaml:"address" protobuf:"1"`
	Local     netip.Addr              `yaml:"local" protobuf:"2"`
	Broadcast netip.Addr              `yaml:"broadcast" protobuf:"3"`
	Anycast   netip.Addr              `yaml:"anycast" protobuf:"4"`
	Multicast netip.Addr              `yaml:"multicast" protobuf:"5"`
	LinkIndex uint32                  `yaml:"linkIndex" protobuf:"6"`
	LinkName  string                  `yaml:"linkName" protobuf:"7"`
	Family    nethelpers.Family       `yaml:"family" protobuf:"8"`
	Scope     nethelpers.Scope        `yaml:"scope" protobuf:"9"`
	Flags     nethelpers.AddressFlags `yaml:"flags" protobuf:"10"`
	Priority  uint32                  `yaml:"priority,omitempty" protobuf:"11"`
}

// Definition implements resource.Spec.
func (AddressStatusSpec) Definition() *resource.Definition { return addressStatusDefinition }
