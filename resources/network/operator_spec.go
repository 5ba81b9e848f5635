// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

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
	VIP       VIPOperatorSpec   `yaml:"vip,omitempty" protobuf:"6"`
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

// VIPOperatorSpec is a virtual address, which one control plane machine at a time has.
type VIPOperatorSpec struct {
	IP netip.Addr `yaml:"ip" protobuf:"1"`
	// GratuitousARP is whether the machine announces on the link that it has the address now.
	GratuitousARP bool `yaml:"gratuitousARP" protobuf:"2"`
	// EquinixMetal and HCloud have the settings for the API of a cloud, which moves the address.
	EquinixMetal VIPEquinixMetalSpec `yaml:"equinixMetal,omitempty" protobuf:"3"`
	HCloud       VIPHCloudSpec       `yaml:"hcloud,omitempty" protobuf:"4"`
}

// VIPEquinixMetalSpec has the settings for the API of Equinix Metal.
type VIPEquinixMetalSpec struct {
	ProjectID string `yaml:"projectID" protobuf:"1"`
	DeviceID  string `yaml:"deviceID" protobuf:"2"`
	APIToken  string `yaml:"apiToken" protobuf:"3"`
}

// VIPHCloudSpec has the settings for the API of Hetzner Cloud.
type VIPHCloudSpec struct {
	DeviceID  int64  `yaml:"deviceID" protobuf:"1"`
	NetworkID int64  `yaml:"networkID" protobuf:"2"`
	APIToken  string `yaml:"apiToken" protobuf:"3"`
}

// ClientIdentifierSpec is how a DHCP client identifies itself.
type ClientIdentifierSpec struct {
	ClientIdentifier nethelpers.ClientIdentifier `yaml:"clientIdentifier" protobuf:"1"`
	DUIDRawHex       string                      `yaml:"duidRawHex,omitempty" protobuf:"2"`
}

// ID is the identity of the spec in namespace network: dhcp4/eth0, vip/eth0/192.0.2.50.
func (s OperatorSpecSpec) ID() string {
	id := s.Operator.String() + "/" + s.LinkName
	if s.Operator == OperatorVIP { // a link may have several
		id += "/" + s.VIP.IP.String()
	}

	return id
}

// ConfigLayer is the layer that the spec comes from.
func (s OperatorSpecSpec) ConfigLayer() ConfigLayer { return s.Layer }
