// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Link is what the configuration says about a link. It is the same for documents and for the keys of machine.network.interfaces. A link
// may have several: a LinkConfig and a DHCPv4Config, for example.
type Link struct {
	// At names the document or key, for messages.
	At string
	// Name is the name of the link, or another name that the kernel has for it. It is empty if Selector names links.
	Name     string
	Selector *DeviceSelector
	// Ignore means that the link must not be changed.
	Ignore bool

	// Up and Multicast are nil if they are not set: the link is then up, and multicast stays as it is.
	Up, Multicast *bool
	MTU           uint32
	HardwareAddr  []byte
	Addresses     []LinkAddress
	Routes        []Route
	// VIP is the address that one control plane machine at a time has on the link. Its Address is the zero Addr without one.
	VIP VIP
	// DHCP4 and DHCP6 are nil where no client runs.
	DHCP4, DHCP6 *DHCP

	// At most one of these is set: the link is created. Otherwise it exists.
	Bond      *Bond
	Bridge    *Bridge
	VLAN      *VLAN
	VRF       *VRF
	Veth      *Veth
	WireGuard *WireGuard
	Dummy     bool

	// Ports and PortSelectors name the links that belong to the bond, bridge or VRF.
	Ports         []string
	PortSelectors []DeviceSelector
	// Bridged is the bridge that the link is a port of.
	Bridged string
	// Tagged are the VLANs of the link that machine.network.interfaces describes with it. Their name follows from the link's.
	Tagged []Link
}

// LinkAddress is an address of a link.
type LinkAddress struct {
	// Address has the length of its network; without a length it is a single address.
	Address string
	// Metric is that of the route to the network; 0 is the kernel's.
	Metric uint32
}

// Route is a route through a link. Without a destination it is the default route of the gateway's family; table 0 is the main one.
type Route struct {
	Destination        netip.Prefix
	Gateway, Source    netip.Addr
	Metric, MTU, Table uint32
}

// DHCP are the settings of a DHCP client.
type DHCP struct {
	// RouteMetric 0 is the default. DHCPv6 has none: it brings no routes.
	RouteMetric                  uint32
	IgnoreHostname, IgnoreRoutes bool
	// ClientIdentifier is none, mac or duid; empty is none.
	ClientIdentifier string
	// DUID has two hexadecimal digits for each byte, and may have colons.
	DUID string
	// Advertised means that the client runs only if routers advertise DHCPv6.
	Advertised bool
}

// Bond are the settings of a bond. The fields of both descriptions are those of the kernel.
type Bond struct {
	v1alpha1.Bond

	MissedMax    *uint8
	ADLACPActive string
}

// Bridge are the settings of a bridge.
type Bridge struct{ STP, VLANFiltering bool }

// VLAN are the settings of a tagged link.
type VLAN struct {
	ID uint16
	// Parent is the link that carries the VLAN. It is empty in Tagged.
	Parent string
	// Mode is 802.1q or 802.1ad; empty is 802.1q.
	Mode string
}

// VRF are the settings of a VRF.
type VRF struct{ Table uint32 }

// Veth are the settings of one end of a pair.
type Veth struct{ Peer string }

// WireGuard are the settings of a WireGuard link. Keys are in base64.
type WireGuard struct {
	PrivateKey   string
	ListenPort   uint16
	FirewallMark uint32
	Peers        []WireGuardPeer
}

// WireGuardPeer is the other end of a tunnel.
type WireGuardPeer struct {
	PublicKey, PresharedKey string
	// Endpoint is ADDRESS:PORT or empty.
	Endpoint   string
	Keepalive  time.Duration
	AllowedIPs []string
}
