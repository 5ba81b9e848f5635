// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var (
	routingRuleSpecDefinition   = domain.Type("RoutingRuleSpecs")
	routingRuleStatusDefinition = domain.Alias("routingrule", "routingrules").Type("RoutingRuleStatuses",
		"Priority={.priority}", "Src={.src}", "Dst={.dst}", "Action={.action}", "Table={.table}")
)

// RoutingRuleSpecSpec is a wanted rule: packets that it matches are routed by its table. What is zero matches all packets.
type RoutingRuleSpecSpec struct {
	Family   nethelpers.Family            `yaml:"family" protobuf:"1"`
	Src      netip.Prefix                 `yaml:"src" protobuf:"2"`
	Dst      netip.Prefix                 `yaml:"dst" protobuf:"3"`
	Table    nethelpers.RoutingTable      `yaml:"table" protobuf:"4"`
	Priority uint32                       `yaml:"priority" protobuf:"5"`
	Action   nethelpers.RoutingRuleAction `yaml:"action" protobuf:"6"`
	IIFName  string                       `yaml:"iifName,omitempty" protobuf:"7"`
	OIFName  string                       `yaml:"oifName,omitempty" protobuf:"8"`
	FwMark   uint32                       `yaml:"fwMark,omitempty" protobuf:"9"`
	FwMask   uint32                       `yaml:"fwMask,omitempty" protobuf:"10"`
	Layer    ConfigLayer                  `yaml:"layer" protobuf:"11"`
}

// Definition implements resource.Spec.
func (RoutingRuleSpecSpec) Definition() *resource.Definition { return routingRuleSpecDefinition }

// ID is the identity of the spec in namespace network.
func (s RoutingRuleSpecSpec) ID() string { return RoutingRuleID(s.Family, s.Priority) }

// ConfigLayer is the layer that the spec comes from.
func (s RoutingRuleSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }

// RoutingRuleStatusSpec is a rule as the kernel has it.
type RoutingRuleStatusSpec struct {
	Family   nethelpers.Family            `yaml:"family" protobuf:"1"`
	Src      netip.Prefix                 `yaml:"src" protobuf:"2"`
	Dst      netip.Prefix                 `yaml:"dst" protobuf:"3"`
	Table    nethelpers.RoutingTable      `yaml:"table" protobuf:"4"`
	Priority uint32                       `yaml:"priority" protobuf:"5"`
	Action   nethelpers.RoutingRuleAction `yaml:"action" protobuf:"6"`
	IIFName  string                       `yaml:"iifName,omitempty" protobuf:"7"`
	OIFName  string                       `yaml:"oifName,omitempty" protobuf:"8"`
	FwMark   uint32                       `yaml:"fwMark,omitempty" protobuf:"9"`
	FwMask   uint32                       `yaml:"fwMask,omitempty" protobuf:"10"`
}

// Definition implements resource.Spec.
func (RoutingRuleStatusSpec) Definition() *resource.Definition { return routingRuleStatusDefinition }

// RoutingRuleID returns the id of a rule: family/priority. The priority has five digits, so that a list has the kernel's order.
func RoutingRuleID(family nethelpers.Family, priority uint32) string {
	return fmt.Sprintf("%s/%05d", family, priority)
}
