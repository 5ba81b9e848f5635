// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// LinkType is the hardware type of a link (ARPHRD_*).
type LinkType uint16

// The link types that are used here.
const (
	LinkTypeEther    LinkType = 1
	LinkTypeLoopback LinkType = 772
	LinkTypeNone     LinkType = 65534
)

var linkTypeNames = enum.Names[LinkType]{
	0: "netrom", LinkTypeEther: "ether", 2: "eether", 3: "ax25", 4: "pronet", 5: "chaos", 6: "ieee802", 7: "arcnet", 8: "atalk",
	15: "dlci", 19: "atm", 23: "metricom", 24: "ieee1394", 27: "eui64", 32: "infiniband",
	256: "slip", 257: "cslip", 258: "slip6", 259: "cslip6", 260: "rsrvd", 264: "adapt", 270: "rose", 271: "x25", 272: "hwx25", 280: "can",
	512: "ppp", 513: "hdlc", 516: "lapb", 517: "ddcmp", 518: "rawhdlc",
	768: "ipip", 769: "tunnel6", 770: "frad", 771: "skip", LinkTypeLoopback: "loopback", 773: "localtlk", 774: "fddi", 775: "bif",
	776: "sit", 777: "ipddp", 778: "gre", 779: "pimreg", 780: "hippi", 781: "ash", 782: "econet", 783: "irda",
	784: "fcpp", 785: "fcal", 786: "fcpl", 787: "fcfabric", 788: "fcfabric1", 789: "fcfabric2", 790: "fcfabric3", 791: "fcfabric4",
	792: "fcfabric5", 793: "fcfabric6", 794: "fcfabric7", 795: "fcfabric8", 796: "fcfabric9", 797: "fcfabric10", 798: "fcfabric11",
	799: "fcfabric12", 800: "ieee802_tr", 801: "ieee80211", 802: "ieee80211prism", 803: "ieee80211_radiotap", 804: "ieee8021154",
	805: "ieee8021154monitor", 820: "phonet", 821: "phonetpipe", 822: "caif", 823: "gre6", 824: "netlink", 825: "6lowpan",
	LinkTypeNone: "none", 65535: "void",
}

func (l LinkType) String() string                   { return linkTypeNames.Text(l) }
func (l LinkType) MarshalText() ([]byte, error)     { return linkTypeNames.Marshal(l) }
func (l *LinkType) UnmarshalText(text []byte) error { return linkTypeNames.Parse("link type", text, l) }

// LinkFlags are the flags of a link (IFF_*).
type LinkFlags uint32

// The link flags that are used here.
const (
	LinkUp        LinkFlags = 1 << 0
	LinkBroadcast LinkFlags = 1 << 1
	LinkRunning   LinkFlags = 1 << 6
	LinkMulticast LinkFlags = 1 << 12
	LinkLowerUp   LinkFlags = 1 << 16
)

var linkFlagsNames = bits[LinkFlags]{
	"UP", "BROADCAST", "DEBUG", "LOOPBACK", "POINTTOPOINT", "NOTRAILERS", "RUNNING", "NOARP", "PROMISC", "ALLMULTI", "MASTER", "SLAVE",
	"MULTICAST", "PORTSEL", "AUTOMEDIA", "DYNAMIC", "LOWER_UP", "DORMANT", "ECHO",
}

func (l LinkFlags) String() string               { return linkFlagsNames.text(l) }
func (l LinkFlags) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
func (l *LinkFlags) UnmarshalText(text []byte) error {
	return linkFlagsNames.parse("link flags", text, l)
}

// OperationalState is a link's state of RFC 2863.
type OperationalState uint8

// The operational states.
const (
	OperStateUnknown OperationalState = iota
	OperStateNotPresent
	OperStateDown
	OperStateLowerLayerDown
	OperStateTesting
	OperStateDormant
	OperStateUp
)

var operationalStateNames = enum.Of[OperationalState]("unknown", "notPresent", "down", "lowerLayerDown", "testing", "dormant", "up")

func (o OperationalState) String() string               { return operationalStateNames.Text(o) }
func (o OperationalState) MarshalText() ([]byte, error) { return operationalStateNames.Marshal(o) }
func (o *OperationalState) UnmarshalText(text []byte) error {
	return operationalStateNames.Parse("operational state", text, o)
}

// Port is the socket of a network card (PORT_* of ethtool).
type Port uint8

// PortOther is a port that the driver does not know.
const PortOther Port = 255

var portNames = enum.Names[Port]{
	0: "TwistedPair", 1: "AUI", 2: "MII", 3: "Fibre", 4: "BNC", 5: "DirectAttach", 239: "None", PortOther: "Other",
}

func (p Port) String() string                   { return portNames.Text(p) }
func (p Port) MarshalText() ([]byte, error)     { return portNames.Marshal(p) }
func (p *Port) UnmarshalText(text []byte) error { return portNames.Parse("port", text, p) }

// Duplex is whether both sides of a link may send at once (DUPLEX_* of ethtool).
type Duplex uint8

// DuplexUnknown is the duplex of a link that does not say.
const DuplexUnknown Duplex = 255

var duplexNames = enum.Names[Duplex]{0: "Half", 1: "Full", DuplexUnknown: "Unknown"}

func (d Duplex) String() string                   { return duplexNames.Text(d) }
func (d Duplex) MarshalText() ([]byte, error)     { return duplexNames.Marshal(d) }
func (d *Duplex) UnmarshalText(text []byte) error { return duplexNames.Parse("duplex", text, d) }

// VLANProtocol is the EtherType of a VLAN tag.
type VLANProtocol uint16

// VLANProtocol8021Q is the protocol of the VLANs that this system creates.
const VLANProtocol8021Q VLANProtocol = 0x8100

var vlanProtocolNames = enum.Names[VLANProtocol]{VLANProtocol8021Q: "802.1q", 0x88a8: "802.1ad"}

func (v VLANProtocol) String() string               { return vlanProtocolNames.Text(v) }
func (v VLANProtocol) MarshalText() ([]byte, error) { return vlanProtocolNames.Marshal(v) }
func (v *VLANProtocol) UnmarshalText(text []byte) error {
	return vlanProtocolNames.Parse("VLAN protocol", text, v)
}
