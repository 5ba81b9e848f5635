// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"encoding/binary"
	"fmt"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
)

func (b *builder) layer4(m *network.NfTablesLayer4Match) error {
	if m == nil {
		return nil
	}

	ports := m.MatchSourcePort != nil || m.MatchDestinationPort != nil

	switch m.Protocol {
	case nethelpers.ProtocolTCP, nethelpers.ProtocolUDP:
		if m.MatchICMPType != nil {
			return errProtocol
		}
	case nethelpers.ProtocolICMP, nethelpers.ProtocolICMPv6:
		if ports {
			return errProtocol
		}
	default:
		if ports || m.MatchICMPType != nil || m.Protocol == 0 {
			return errProtocol
		}
	}

	b.match(m.Protocol.String(), meta(expr.MetaKeyL4PROTO, []byte{byte(m.Protocol)})...)
	b.port("sport", 0, m.MatchSourcePort)
	b.port("dport", 2, m.MatchDestinationPort)

	if t := m.MatchICMPType; t != nil {
		values := icmpRanges(t.Types)
		b.never = b.never || len(values) == 0
		b.lookup("type", false, nft.ICMPTypes, values, transport(0, 1))
	}

	return nil
}

func transport(offset, length uint32) *expr.Payload {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: length}
}

func (b *builder) port(what string, offset uint32, m *network.NfTablesPortMatch) {
	if m == nil {
		return
	}

	ranges := portRanges(m.Ranges)
	b.never = b.never || len(ranges) == 0
	b.lookup(what, false, nft.Ports, ranges, transport(offset, 2))
}

// The segment size that fits into an MTU is smaller by the headers of IP and TCP with the usual options.
const (
	headers4 = 20 + 20 + 12
	headers6 = 40 + 20 + 12
)

// Where the option is in the header of TCP: its kind, and where its value begins.
const (
	optionMaxSegment = 2
	optionValue      = 2
	flagsOffset      = 13
	flagsSYNAndRST   = 0x06
	flagSYN          = 0x02
)

// clamp lowers the segment size that a packet with SYN offers, if it is larger.
func (b *builder) clamp(m *network.NfTablesClampMSS) error {
	if m == nil {
		return nil
	}

	size := int64(m.MTU) - headers4
	if b.family == ip6 {
		size = int64(m.MTU) - headers6
	}

	if size <= 0 || size > 0xffff {
		return fmt.Errorf("MTU %d is out of range", m.MTU)
	}

	value := binary.BigEndian.AppendUint16(nil, uint16(size))

	b.match("tcp flags syn", meta(expr.MetaKeyL4PROTO, []byte{unix.IPPROTO_TCP})...)
	b.match(fmt.Sprintf("clamp maxseg %d", size),
		transport(flagsOffset, 1),
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{flagsSYNAndRST}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{flagSYN}},
		&expr.Exthdr{Op: expr.ExthdrOpTcpopt, Type: optionMaxSegment, Offset: optionValue, Len: 2, DestRegister: register},
		&expr.Cmp{Op: expr.CmpOpGt, Register: register, Data: value},
		&expr.Immediate{Register: register, Data: value},
		&expr.Exthdr{Op: expr.ExthdrOpTcpopt, Type: optionMaxSegment, Offset: optionValue, Len: 2, SourceRegister: register},
	)

	return nil
}
