// SPDX-License-Identifier: Apache-2.0

// Package netlink is the kernel's network as this system uses it: links, addresses and routes are listed, changed one at a time, and
// watched. An Observer keeps one Snapshot for all readers. The package is a thin shell over rtnetlink; its callers decide what to
// change. Package netlinktest has the same in memory.
//
// Errors of changes have the operation and the object, and wrap the kernel's errno. It is not an error to remove an object that does not
// exist.
package netlink

import (
	"context"
	"net/netip"
	"slices"
)

// Kernel is the network of one network namespace.
type Kernel interface {
	// Links returns all links, by index.
	Links() ([]Link, error)
	// Addresses returns all addresses of all links.
	Addresses() ([]Address, error)
	// Routes returns the routes of all tables, without the kernel's caches.
	Routes() ([]Route, error)

	// CreateLink creates a logical link.
	CreateLink(NewLink) error
	// SetLink changes a link.
	SetLink(index uint32, change LinkChange) error
	// SetAlias gives a link a second name, and takes back the old one. Either may be empty. The name is an alternative name, and the text that
	// the kernel calls alias.
	SetAlias(index uint32, old, name string) error
	// DeleteLink removes a logical link.
	DeleteLink(index uint32) error

	AddAddress(Address) error
	// SetAddressPriority changes only the metric of an address, to one that is not 0. The network's route gets it; no other route is lost.
	SetAddressPriority(Address) error
	DeleteAddress(Address) error
	// ReplaceRoute adds the route, or changes the one of the same table, destination and metric.
	ReplaceRoute(Route) error
	DeleteRoute(Route) error
	// Rules returns the rules that choose a routing table.
	Rules() ([]Rule, error)
	AddRule(Rule) error
	DeleteRule(Rule) error

	// Watch calls changed with the groups that have changed, until the context ends. It first calls changed with all groups, after it has
	// subscribed. Routes vanish with a link or an address without a message of the kernel: they are reported as changed with the cause.
	Watch(ctx context.Context, what Groups, changed func(Groups)) error
	// WatchRouterOptions calls said with each option of a router advertisement, until the context ends.
	WatchRouterOptions(ctx context.Context, said func(RouterOption)) error
}

// Groups are the kinds of objects that Watch watches.
type Groups uint32

// The groups, numbered as the kernel's multicast groups.
const (
	WatchLinks     Groups = 1<<0 | 1<<11 // with the flags of router advertisements
	WatchAddresses Groups = 1<<4 | 1<<8
	WatchRoutes    Groups = 1<<6 | 1<<10
	WatchRules     Groups = 1<<7 | 1<<18
	WatchAll              = WatchLinks | WatchAddresses | WatchRoutes | WatchRules
)

// numbers returns the numbers of the kernel's multicast groups.
func (g Groups) numbers() (out []uint32) {
	for i := range uint32(32) {
		if g&(1<<i) != 0 {
			out = append(out, i+1)
		}
	}

	return out
}

// follows adds the groups that change without a message when these have changed.
func (g Groups) follows() Groups {
	switch {
	case g&WatchLinks != 0:
		return g | WatchLinks | WatchAddresses | WatchRoutes
	case g&WatchAddresses != 0:
		return g | WatchAddresses | WatchRoutes
	default:
		return g
	}
}

// Link is a network interface.
type Link struct {
	Name  string
	Index uint32
	// Type is the hardware type, ARPHRD_*.
	Type uint16
	// Flags are IFF_*.
	Flags uint32
	// Parent is the index of the link below a VLAN, or of the peer of a veth; 0 is none.
	Parent uint32
	// Master is the index of the bond, bridge or VRF that the link belongs to; 0 is none.
	Master           uint32
	Address          []byte
	PermanentAddress []byte
	Broadcast        []byte
	MTU              uint32
	// MinMTU and MaxMTU are the driver's limits; a MaxMTU of 0 means unlimited.
	MinMTU, MaxMTU uint32
	// Router has the IF_* flags of IPv6, from the last router advertisement.
	Router    RouterFlags
	QueueDisc string
	OperState uint8
	// Kind is the kind of a logical link: vlan, bond, bridge, veth; empty for hardware and loopback.
	Kind, SlaveKind string
	Alias           string
	AltNames        []string

	VLAN   *VLAN
	Bridge *Bridge
	Bond   *Bond
	VRF    *VRF
	// WireGuard is nil if the kernel does not show it.
	WireGuard *WireGuard
}

// Up reports whether the link is administratively up.
func (l Link) Up() bool { return l.Flags&1 != 0 }

// Multicast reports whether the link receives multicast.
func (l Link) Multicast() bool { return l.Flags&(1<<12) != 0 }

// Carrier reports whether the link can carry packets.
func (l Link) Carrier() bool { return l.Flags&(1<<16) != 0 }

// RouterFlags are what routers advertise on a link (include/net/if_inet6.h).
type RouterFlags uint32

// The flags.
const (
	RouterOtherConfig RouterFlags = 0x80
	RouterManaged     RouterFlags = 0x40
	RouterSeen        RouterFlags = 0x20
)

// MaxName is the length of the longest name of a link, in bytes.
const MaxName = 15

// MinMTU6 is the smallest MTU of a link with IPv6 (RFC 8200, 5).
const MinMTU6 = 1280

// Named reports whether the link has the name, or has it as an alternative name.
func (l Link) Named(name string) bool { return l.Name == name || slices.Contains(l.AltNames, name) }

// NewLink is a logical link to create.
type NewLink struct {
	Name   string
	Kind   string
	Parent uint32
	VLAN   *VLAN
	Bridge *Bridge
	Bond   *Bond
	VRF    *VRF
	// VethPeer is the name of the other end, for kind veth.
	VethPeer string
	// Up sets the link up, but not the other end of a veth. A VLAN can be up only if its parent is, else the error is ENETDOWN and there is no link.
	Up bool
	// Master is the bridge or VRF that the link belongs to; 0 is none.
	Master uint32
}

// LinkChange is a change of a link; a nil field is not changed.
type LinkChange struct {
	Up, Multicast *bool
	MTU           *uint32
	Address       []byte
	// Master 0 takes the link out of its bond, bridge or VRF.
	Master *uint32
	// Kind must be given with Bridge or Bond.
	Kind string
	// Bridge are the settings of a bridge, and BridgeNow its current ones: only differences are set.
	Bridge, BridgeNow *Bridge
	Bond              *Bond
	// BondNow is the current state of the bond: only differences are set. It must be given with Bond.
	BondNow *Bond
	// WireGuard are the settings of the link Name, and WireGuardNow its current ones. The kernel does not report this change to Watch.
	WireGuard, WireGuardNow *WireGuard
	Name                    string
}

// VLAN are the settings of a tagged link.
type VLAN struct {
	ID uint16
	// Protocol is the EtherType.
	Protocol uint16
}

// Bridge are the settings of a bridge.
type Bridge struct {
	STP, VLANFiltering bool
}

// VRF are the settings of a VRF, which cannot be changed.
type VRF struct{ Table uint32 }

// Bond are the settings of a bond, with the kernel's numbers. MissedMax 0 keeps the kernel's value, and an ADActorSystem of zeros is the
// bond's own hardware address.
type Bond struct {
	Mode, XmitHashPolicy, LACPRate, PrimaryReselect, FailOverMAC, ADSelect, ADLACPActive uint8
	ARPValidate, ARPAllTargets                                                           uint32
	Primary                                                                              uint32
	MIIMon, UpDelay, DownDelay, ARPInterval, PeerNotifyDelay                             uint32
	ResendIGMP, MinLinks, LPInterval, PacketsPerSlave                                    uint32
	NumPeerNotif, TLBDynamicLB, AllSlavesActive, MissedMax                               uint8
	ADActorSysPrio, ADUserPortKey                                                        uint16
	ADActorSystem                                                                        [6]byte
	UseCarrier                                                                           bool
	ARPIPTargets, NSIP6Targets                                                           []netip.Addr
}

// Address is an IP address on a link.
type Address struct {
	LinkIndex uint32
	// Prefix is the address with the length of its network. Peer is the address of the peer on a point-to-point link.
	Prefix    netip.Prefix
	Peer      netip.Addr
	Broadcast netip.Addr
	Anycast   netip.Addr
	Multicast netip.Addr
	Scope     uint8
	// Flags are IFA_F_*.
	Flags uint32
	// Priority is the metric of the route to the network; 0 is the kernel's default.
	Priority uint32
}

// Route is an entry of a routing table.
type Route struct {
	// Family is AF_INET or AF_INET6.
	Family uint8
	// Destination is invalid for the default route.
	Destination netip.Prefix
	// Source is the preferred source address.
	Source  netip.Addr
	Gateway netip.Addr
	// LinkIndex 0 lets the kernel choose the link.
	LinkIndex uint32
	Table     uint32
	Priority  uint32
	Scope     uint8
	Type      uint8
	Flags     uint32
	Protocol  uint8
	MTU       uint32
	NextHops  []NextHop
}

// Rule chooses the routing table of packets. What is zero matches all packets.
type Rule struct {
	// Family is AF_INET or AF_INET6.
	Family uint8
	// Priority is the place of the rule: the kernel looks at the lowest first.
	Priority            uint32
	Source, Destination netip.Prefix
	// InLink and OutLink are names of links, which need not exist.
	InLink, OutLink string
	Mark, Mask      uint32
	// Action is FR_ACT_*, and Table is for FR_ACT_TO_TBL.
	Action uint8
	Table  uint32
	// Protocol is the program that created the rule, RTPROT_*.
	Protocol uint8
}

// NextHop is one of several next hops of a route.
type NextHop struct {
	Gateway   netip.Addr
	LinkIndex uint32
	Weight    uint32
}
