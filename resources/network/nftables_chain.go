// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

var nfTablesChainDefinition = domain.Alias("chain", "chains").Type("NfTablesChains",
	"Type={.type}", "Hook={.hook}", "Priority={.priority}", "Policy={.policy}")

// NfTablesChainSpec is a chain of the machine's table of the kernel's packet filter. Its id is the name of the chain.
type NfTablesChainSpec struct {
	// Type is filter or route.
	Type     string                           `yaml:"type" protobuf:"1"`
	Hook     nethelpers.NfTablesChainHook     `yaml:"hook" protobuf:"2"`
	Priority nethelpers.NfTablesChainPriority `yaml:"priority" protobuf:"3"`
	Rules    []NfTablesRule                   `yaml:"rules" protobuf:"4"`
	// Policy is for packets without a verdict of a rule.
	Policy nethelpers.NfTablesVerdict `yaml:"policy" protobuf:"5"`
}

// Definition implements resource.Spec.
func (NfTablesChainSpec) Definition() *resource.Definition { return nfTablesChainDefinition }

// NfTablesRule acts on the packets that match all of its parts.
type NfTablesRule struct {
	MatchOIfName            *NfTablesIfNameMatch         `yaml:"matchOIfName,omitempty" protobuf:"1"`
	Verdict                 *nethelpers.NfTablesVerdict  `yaml:"verdict,omitempty" protobuf:"2"`
	MatchMark               *NfTablesMark                `yaml:"matchMark,omitempty" protobuf:"3"`
	SetMark                 *NfTablesMark                `yaml:"setMark,omitempty" protobuf:"4"`
	MatchSourceAddress      *NfTablesAddressMatch        `yaml:"matchSourceAddress,omitempty" protobuf:"5"`
	MatchDestinationAddress *NfTablesAddressMatch        `yaml:"matchDestinationAddress,omitempty" protobuf:"6"`
	MatchLayer4             *NfTablesLayer4Match         `yaml:"matchLayer4,omitempty" protobuf:"7"`
	MatchIIfName            *NfTablesIfNameMatch         `yaml:"matchIIfName,omitempty" protobuf:"8"`
	ClampMSS                *NfTablesClampMSS            `yaml:"clampMSS,omitempty" protobuf:"9"`
	MatchLimit              *NfTablesLimitMatch          `yaml:"matchLimit,omitempty" protobuf:"10"`
	MatchConntrackState     *NfTablesConntrackStateMatch `yaml:"matchConntrackState,omitempty" protobuf:"11"`
	// AnonCounter counts the packets and bytes that the rule matches.
	AnonCounter bool `yaml:"anonCounter,omitempty" protobuf:"12"`
}

// NfTablesAddressMatch matches the addresses of the included subnets that are not excluded; with Invert, all other addresses.
type NfTablesAddressMatch struct {
	IncludeSubnets []netip.Prefix `yaml:"includeSubnets,omitempty" protobuf:"1"`
	ExcludeSubnets []netip.Prefix `yaml:"excludeSubnets,omitempty" protobuf:"2"`
	Invert         bool           `yaml:"invert,omitempty" protobuf:"3"`
}

// NfTablesClampMSS lowers the segment size of new TCP connections to what fits into the MTU.
type NfTablesClampMSS struct {
	MTU uint32 `yaml:"mtu" protobuf:"1"`
}

// NfTablesConntrackStateMatch matches packets in one of the states.
type NfTablesConntrackStateMatch struct {
	States []nethelpers.ConntrackState `yaml:"states" protobuf:"1"`
}

// NfTablesICMPTypeMatch matches messages of one of the types.
type NfTablesICMPTypeMatch struct {
	Types []nethelpers.ICMPType `yaml:"types" protobuf:"1"`
}

// NfTablesIfNameMatch matches packets of one of the links, or of none of them.
type NfTablesIfNameMatch struct {
	Operator       nethelpers.MatchOperator `yaml:"operator" protobuf:"2"`
	InterfaceNames []string                 `yaml:"interfaceNames" protobuf:"3"`
}

// NfTablesLayer4Match matches packets of a protocol.
type NfTablesLayer4Match struct {
	Protocol             nethelpers.Protocol    `yaml:"protocol" protobuf:"1"`
	MatchSourcePort      *NfTablesPortMatch     `yaml:"matchSourcePort,omitempty" protobuf:"2"`
	MatchDestinationPort *NfTablesPortMatch     `yaml:"matchDestinationPort,omitempty" protobuf:"3"`
	MatchICMPType        *NfTablesICMPTypeMatch `yaml:"matchICMPType,omitempty" protobuf:"4"`
}

// NfTablesLimitMatch matches up to so many packets a second.
type NfTablesLimitMatch struct {
	PacketRatePerSecond uint64 `yaml:"packetRatePerSecond" protobuf:"1"`
}

// NfTablesMark is a mark of packets. A packet matches if (mark & Mask) ^ Xor is Value. A rule that sets the mark sets (mark & Mask) ^ Xor.
type NfTablesMark struct {
	Mask  uint32 `yaml:"mask,omitempty" protobuf:"1"`
	Xor   uint32 `yaml:"xor,omitempty" protobuf:"2"`
	Value uint32 `yaml:"value,omitempty" protobuf:"3"`
}

// NfTablesPortMatch matches ports in one of the ranges.
type NfTablesPortMatch struct {
	Ranges []PortRange `yaml:"ranges,omitempty" protobuf:"1"`
}

// PortRange is the ports from one to another, both included.
type PortRange struct {
	Lo uint16 `yaml:"lo" protobuf:"1"`
	Hi uint16 `yaml:"hi" protobuf:"2"`
}
