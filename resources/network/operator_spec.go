// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var operatorSpecDefinition = domain.Sensitive().Type("OperatorSpecs")

// OperatorSpecSpec is a program that gets the configuration of a link from the network, such as a DHCP client.
type OperatorSpecSpec struct {
	Operator  Operator          `yaml:"operator" protobuf:"1"`
	LinkName  string            `yaml:"linkName" protobuf:"2"`
	RequireUp bool              `yaml:"requireUp" protobuf:"3"`
	DHCP4     DHCP4OperatorSpec `yaml:"dhcp4,omitempty" protobuf:"4"`
	DHCP6     DHCP6OperatorSpec `yaml:"dhcp6,omitempty" protobuf:"5"`
	Layer     ConfigLayer       `yaml:"layer" protobuf:"7"`
}

// Definition implements resource.Spec.
func (OperatorSpecSpec) Definition() *resource.Definition { return operatorSpecDefinition }

// DHCP4OperatorSpec are the settings of a DHCPv4 client.
type DHCP4OperatorSpec struct {
	RouteMetric         uint32               `yaml:"routeMetric" protobuf:"1"`
	SkipHostnameRequest bool                 `yaml:"skipHostnameRequest,omitempty" protobuf:"2"`
	ClientIdentifier    ClientIdentifierSpec `yaml:"clientIdentifier,omitempty" protobuf:"3"`
	SkipRoutes          bool                 `yaml:"skipRoutes,omitempty" protobuf:"4"`
}

// DHCP6OperatorSpec are the settings of a DHCPv6 client. RouteMetric has no effect: routers advertise the routes of IPv6.
type DHCP6OperatorSpec struct {
	RouteMetric         uint32               `yaml:"routeMetric" protobuf:"2"`
	SkipHostnameRequest bool                 `yaml:"skipHostnameRequest,omitempty" protobuf:"3"`
	ClientIdentifier    ClientIdentifierSpec `yaml:"clientIdentifier,omitempty" protobuf:"4"`
}

// ClientIdentifierSpec is how a DHCP client identifies itself.
type ClientIdentifierSpec struct {
	ClientIdentifier nethelpers.ClientIdentifier `yaml:"clientIdentifier" protobuf:"1"`
	DUIDRawHex       string                      `yaml:"duidRawHex,omitempty" protobuf:"2"`
}

// ID is the identity of the spec in namespace network: dhcp4/eth0.
func (s OperatorSpecSpec) ID() string { return s.Operator.String() + "/" + s.LinkName }

// ConfigLayer is the layer that the spec comes from.
func (s OperatorSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }
