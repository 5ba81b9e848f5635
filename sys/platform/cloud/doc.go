// SPDX-License-Identifier: Apache-2.0

// Package cloud reads what a cloud says about a machine: its configuration, its metadata and its network.
//
// A cloud is a value in a table (clouds): where its documents are, the headers and the token that requests for them need, and a pure
// function from documents to a Machine. Nothing here opens a connection: a Fetch is injected, which carries out one Request. HTTP is
// the one for metadata servers.
//
// Documents need not be on a server. A URL of the scheme volume names a file of a file system by its label: on volume://cidata/ are the
// documents of NoCloud, and volume://*/ovf-env.xml is that file on a CD with any label. One of the scheme guestinfo names a value that
// VMware's hypervisor passes to the machine.
//
// Values that cannot be read are left out and listed in Machine.Ignored, so that one wrong address does not take away the network.
// Cards are named by their hardware addresses, as clouds do; the caller knows the names of links.
package cloud

import (
	"errors"
	"net/netip"
)

// Machine is what a cloud says about a machine. Every field may be empty.
type Machine struct {
	// Hostname may have a domain.
	Hostname                 string
	Region, Zone             string
	InstanceType, InstanceID string
	// ProviderID is the id by which Kubernetes' cloud controller managers know the machine.
	ProviderID               string
	Spot                     bool
	InternalDNS, ExternalDNS string
	Tags                     map[string]string

	Links         []Link
	Resolvers     []netip.Addr
	SearchDomains []string
	TimeServers   []string
	// External are addresses that the cloud translates to those of the machine.
	External []netip.Addr

	// Ignored are values that could not be read, with the reason.
	Ignored []string
}

// Link is a network card, or a link that is made of cards.
type Link struct {
	// MAC identifies a card; First is set for the first card, whatever its address. Other links are identified by their name, which for
	// cards may be a pattern, as ens*.
	MAC   string
	First bool
	Name  string
	// MTU is 0 for the kernel's.
	MTU          uint32
	DHCP4, DHCP6 bool
	Addresses    []netip.Prefix
	Routes       []Route
	Bond         *Bond
	Bridge       *Bridge
	VLAN         *VLAN
}

// Logical reports whether the machine creates the link.
func (l *Link) Logical() bool { return l.Bond != nil || l.Bridge != nil || l.VLAN != nil }

// Route is a static route. Without a destination it is a default route.
type Route struct {
	Destination netip.Prefix
	Gateway     netip.Addr
	// Source is the address of packets that take the route, as far as their program has not chosen one.
	Source netip.Addr
	// Metric, Table and MTU are 0 for the default.
	Metric, Table, MTU uint32
	// OnLink means that the gateway is on the link although none of its networks has it.
	OnLink bool
}

// Bond are the settings of a bond. Links are its cards, by hardware address or name.
type Bond struct {
	// Mode is the kernel's name of it.
	Mode  string
	Links []string
	// HashPolicy is the kernel's name of it, or empty for the default; MIIMon is in milliseconds.
	HashPolicy string
	MIIMon     uint32
}

// Bridge are the settings of a bridge. Links are its ports, by hardware address or name.
type Bridge struct {
	Links []string
	STP   bool
}

// VLAN are the settings of a tagged link. Parent is a hardware address or a name.
type VLAN struct {
	ID     uint16
	Parent string
}

// ErrNotFound is the error of a Fetch when the place of a document can be reached and does not have the document.
var ErrNotFound = errors.New("not found")
