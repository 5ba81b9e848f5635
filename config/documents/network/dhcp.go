// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// DHCPv4Config runs a DHCP client for IPv4 on a link. Its name is that of the link.
type DHCPv4Config struct {
	document.Named `yaml:",inline"`
	// The metric of the routes that the server names; 1024 without one.
	RouteMetric uint32 `yaml:"routeMetric,omitempty"`
	// Whether the hostname that the server names is ignored.
	IgnoreHostname bool `yaml:"ignoreHostname,omitempty"`
	// Whether the routes that the server names are ignored.
	IgnoreRoutes bool `yaml:"ignoreRoutes,omitempty"`

	ClientIdentity `yaml:",inline"`
}

// DHCPv6Config runs a DHCP client for IPv6 on a link. Its name is that of the link.
type DHCPv6Config struct {
	document.Named `yaml:",inline"`
	// The metric of the routes of DHCP. DHCPv6 brings none, and routes that routers advertise have a metric of their own.
	RouteMetric uint32 `yaml:"routeMetric,omitempty"`
	// Whether the hostname that the server names is ignored.
	IgnoreHostname bool `yaml:"ignoreHostname,omitempty"`

	ClientIdentity `yaml:",inline"`
}

// ClientIdentity is how a DHCP client names itself to servers.
type ClientIdentity struct {
	// What the client identifies itself by: nothing, the hardware address of the link, or a DUID. DHCPv6 always has a DUID: with none
	// and mac it is the one made of the hardware address (DUID-LL).
	ClientIdentifier ClientIdentifier `yaml:"clientIdentifier,omitempty"`
	// The DUID, in hexadecimal digits that may have colons between them.
	DUIDRaw value.HexBytes `yaml:"duidRaw,omitempty"`
}

// ClientIdentifier is what a DHCP client identifies itself by.
type ClientIdentifier string

// The identifiers.
const (
	ClientIdentifierNone ClientIdentifier = "none"
	ClientIdentifierMAC  ClientIdentifier = "mac"
	ClientIdentifierDUID ClientIdentifier = "duid"
)

// Values implements document.Enum.
func (ClientIdentifier) Values() []string {
	return document.EnumOf(ClientIdentifierNone, ClientIdentifierMAC, ClientIdentifierDUID)
}

var dhcp4 = document.Of[DHCPv4Config]("DHCPv4Config", `apiVersion: v1alpha1
kind: DHCPv4Config
name: eth0
routeMetric: 512
clientIdentifier: mac
`)

var dhcp6 = document.Of[DHCPv6Config]("DHCPv6Config", `apiVersion: v1alpha1
kind: DHCPv6Config
name: eth0
clientIdentifier: duid
duidRaw: 00:03:00:01:02:00:5e:10:00:01
`)

// Validate implements document.Validator.
func (d *DHCPv4Config) Validate(r *document.Report) { d.validate(r) }

// Validate implements document.Validator.
func (d *DHCPv6Config) Validate(r *document.Report) { d.validate(r) }

func (c *ClientIdentity) validate(r *document.Report) {
	if (c.ClientIdentifier == ClientIdentifierDUID) != (len(c.DUIDRaw) > 0) {
		r.Wrong("duidRaw", "clientIdentifier: %s and duidRaw go together", ClientIdentifierDUID)
	}
}
