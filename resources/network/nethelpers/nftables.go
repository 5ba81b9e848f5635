// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// NfTablesChainHook is where a chain sees packets (NF_INET_*).
type NfTablesChainHook uint32

// The hooks.
const (
	ChainHookPrerouting NfTablesChainHook = iota
	ChainHookInput
	ChainHookForward
	ChainHookOutput
	ChainHookPostrouting
)

var chainHookNames = enum.Of[NfTablesChainHook]("prerouting", "input", "forward", "output", "postrouting")

func (h NfTablesChainHook) String() string               { return chainHookNames.Text(h) }
func (h NfTablesChainHook) MarshalText() ([]byte, error) { return chainHookNames.Marshal(h) }
func (h *NfTablesChainHook) UnmarshalText(text []byte) error {
	return chainHookNames.Parse("hook of a chain", text, h)
}

// NfTablesChainPriority is the place of a chain among those of its hook: lower numbers come first.
type NfTablesChainPriority int32

// The priorities that are used here. A chain may be between two of them.
const (
	ChainPriorityMangle  NfTablesChainPriority = -150
	ChainPriorityNATDest NfTablesChainPriority = -100
	ChainPriorityFilter  NfTablesChainPriority = 0
)

var chainPriorityNames = enum.Names[NfTablesChainPriority]{
	-1 << 31: "first", -400: "conntrack-defrag", -300: "raw", -225: "selinux-first", -200: "conntrack", ChainPriorityMangle: "mangle",
	ChainPriorityNATDest: "nat-dest", ChainPriorityFilter: "filter", 50: "security", 100: "nat-source", 225: "selinux-last",
	300: "conntrack-helper", 1<<31 - 1: "last",
}

func (p NfTablesChainPriority) String() string               { return chainPriorityNames.Text(p) }
func (p NfTablesChainPriority) MarshalText() ([]byte, error) { return chainPriorityNames.Marshal(p) }
func (p *NfTablesChainPriority) UnmarshalText(text []byte) error {
	return chainPriorityNames.Parse("priority of a chain", text, p)
}

// NfTablesVerdict is what a rule does with a packet.
type NfTablesVerdict uint32

// The verdicts.
const (
	VerdictDrop NfTablesVerdict = iota
	VerdictAccept
)

var verdictNames = enum.Of[NfTablesVerdict]("drop", "accept")

func (v NfTablesVerdict) String() string               { return verdictNames.Text(v) }
func (v NfTablesVerdict) MarshalText() ([]byte, error) { return verdictNames.Marshal(v) }
func (v *NfTablesVerdict) UnmarshalText(text []byte) error {
	return verdictNames.Parse("verdict", text, v)
}

// ConntrackState is how a packet relates to the connections that the kernel tracks.
type ConntrackState uint32

// The states, which are the kernel's bits.
const (
	ConntrackStateInvalid     ConntrackState = 1
	ConntrackStateEstablished ConntrackState = 2
	ConntrackStateRelated     ConntrackState = 4
	ConntrackStateNew         ConntrackState = 8
)

var conntrackStateNames = enum.Names[ConntrackState]{
	ConntrackStateInvalid: "invalid", ConntrackStateEstablished: "established", ConntrackStateRelated: "related", ConntrackStateNew: "new",
}

func (s ConntrackState) String() string               { return conntrackStateNames.Text(s) }
func (s ConntrackState) MarshalText() ([]byte, error) { return conntrackStateNames.Marshal(s) }
func (s *ConntrackState) UnmarshalText(text []byte) error {
	return conntrackStateNames.Parse("conntrack state", text, s)
}

// ICMPType is a type of messages of ICMP, or of ICMPv6: their numbers do not overlap here.
type ICMPType uint32

// The types that are used here: those without which an IPv6 address does not work (RFC 4890, 4.4.1).
const (
	ICMPv6MulticastListenerQuery ICMPType = 130
	ICMPv6RouterSolicitation     ICMPType = 133
	ICMPv6RouterAdvertisement    ICMPType = 134
	ICMPv6NeighborSolicitation   ICMPType = 135
	ICMPv6NeighborAdvertisement  ICMPType = 136
)

var icmpTypeNames = enum.Names[ICMPType]{
	13: "timestamp-request", 14: "timestamp-reply", 17: "address-mask-request", 18: "address-mask-reply",
	ICMPv6MulticastListenerQuery: "mld-listener-query", ICMPv6RouterSolicitation: "nd-router-solicit", ICMPv6RouterAdvertisement: "nd-router-advert",
	ICMPv6NeighborSolicitation: "nd-neighbor-solicit", ICMPv6NeighborAdvertisement: "nd-neighbor-advert",
}

func (t ICMPType) String() string                   { return icmpTypeNames.Text(t) }
func (t ICMPType) MarshalText() ([]byte, error)     { return icmpTypeNames.Marshal(t) }
func (t *ICMPType) UnmarshalText(text []byte) error { return icmpTypeNames.Parse("ICMP type", text, t) }

// MatchOperator is how a value is compared.
type MatchOperator uint32

// The operators.
const (
	OperatorEqual MatchOperator = iota
	OperatorNotEqual
)

var matchOperatorNames = enum.Of[MatchOperator]("==", "!=")

func (o MatchOperator) String() string               { return matchOperatorNames.Text(o) }
func (o MatchOperator) MarshalText() ([]byte, error) { return matchOperatorNames.Marshal(o) }
func (o *MatchOperator) UnmarshalText(text []byte) error {
	return matchOperatorNames.Parse("operator", text, o)
}

// Protocol is a protocol above IP (IPPROTO_*).
type Protocol uint32

// The protocols of rules.
const (
	ProtocolICMP   Protocol = 1
	ProtocolTCP    Protocol = 6
	ProtocolUDP    Protocol = 17
	ProtocolICMPv6 Protocol = 58
)

var protocolNames = enum.Names[Protocol]{ProtocolICMP: "icmp", ProtocolTCP: "tcp", ProtocolUDP: "udp", ProtocolICMPv6: "icmpv6"}

func (p Protocol) String() string                   { return protocolNames.Text(p) }
func (p Protocol) MarshalText() ([]byte, error)     { return protocolNames.Marshal(p) }
func (p *Protocol) UnmarshalText(text []byte) error { return protocolNames.Parse("protocol", text, p) }
