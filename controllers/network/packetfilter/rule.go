// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
)

func compare(a, b string) int { return cmp.Compare(a, b) }

// builder makes one rule of the kernel, and its sets.
type builder struct {
	// set is how the names of the rule's sets begin.
	set    string
	family family

	text  string
	exprs []expr.Any
	sets  []nft.Set
	// never means that no packet can match.
	never bool
}

// register is where expressions leave values for those that follow.
const register = 1

// rule appends the conditions in the order of their cost, then what the rule does.
func (b *builder) rule(r network.NfTablesRule) error {
	switch b.family {
	case ip4:
		b.match("ip", meta(expr.MetaKeyNFPROTO, []byte{unix.NFPROTO_IPV4})...)
	case ip6:
		b.match("ip6", meta(expr.MetaKeyNFPROTO, []byte{unix.NFPROTO_IPV6})...)
	}

	b.link("iifname", expr.MetaKeyIIFNAME, r.MatchIIfName)
	b.link("oifname", expr.MetaKeyOIFNAME, r.MatchOIfName)
	b.state(r.MatchConntrackState)
	b.mark(r.MatchMark)
	b.address("saddr", r.MatchSourceAddress)
	b.address("daddr", r.MatchDestinationAddress)

	if err := b.layer4(r.MatchLayer4); err != nil {
		return err
	}

	b.limit(r.MatchLimit)

	if r.AnonCounter {
		b.match("counter", &expr.Counter{})
	}

	if err := b.clamp(r.ClampMSS); err != nil {
		return err
	}

	b.setMark(r.SetMark)

	if v := r.Verdict; v != nil {
		kind := expr.VerdictDrop
		if *v == nethelpers.VerdictAccept {
			kind = expr.VerdictAccept
		}

		b.match(v.String(), &expr.Verdict{Kind: kind})
	}

	return nil
}

// match appends expressions, and what they do to the text.
func (b *builder) match(text string, exprs ...expr.Any) {
	if b.text != "" {
		b.text += " "
	}

	b.text += text
	b.exprs = append(b.exprs, exprs...)
}

// lookup matches the value in the register if a set has it.
func (b *builder) lookup(what string, invert bool, kind nft.Kind, ranges []nft.Range, load ...expr.Any) {
	name := b.set + what
	operator := ""

	if invert {
		operator = "!= "
	}

	b.match(what+" "+operator+"@"+name, append(load, &expr.Lookup{SourceRegister: register, SetName: name, Invert: invert})...)
	b.sets = append(b.sets, nft.Set{Name: name, Kind: kind, Ranges: ranges})
}

// meta matches a property of the packet that has a value.
func meta(key expr.MetaKey, value []byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: register}, &expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: value}}
}

// link matches the link of a packet. Names are padded with zeros, as in the kernel.
func (b *builder) link(what string, key expr.MetaKey, m *network.NfTablesIfNameMatch) {
	if m == nil {
		return
	}

	invert := m.Operator == nethelpers.OperatorNotEqual

	names := linkRanges(m.InterfaceNames)
	if len(names) == 0 {
		b.never = b.never || !invert

		return
	}

	b.lookup(what, invert, nft.Links, names, &expr.Meta{Key: key, Register: register})
}

func (b *builder) state(m *network.NfTablesConntrackStateMatch) {
	if m == nil {
		return
	}

	var bits uint32

	text := "ct state"

	for _, s := range m.States {
		bits |= uint32(s)
		text += " " + s.String()
	}

	b.match(text,
		&expr.Ct{Key: expr.CtKeySTATE, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: native(bits), Xor: native(0)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: native(0)},
	)
}

func native(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

func (b *builder) mark(m *network.NfTablesMark) {
	if m == nil {
		return
	}

	b.match(fmt.Sprintf("mark & %#x ^ %#x == %#x", m.Mask, m.Xor, m.Value),
		&expr.Meta{Key: expr.MetaKeyMARK, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: native(m.Mask), Xor: native(m.Xor)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: native(m.Value)},
	)
}

func (b *builder) setMark(m *network.NfTablesMark) {
	if m == nil {
		return
	}

	b.match(fmt.Sprintf("mark set mark & %#x ^ %#x", m.Mask, m.Xor),
		&expr.Meta{Key: expr.MetaKeyMARK, Register: register},
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: native(m.Mask), Xor: native(m.Xor)},
		&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: register},
	)
}

// Where the addresses are in the header of IP.
var addressAt = map[family]map[string]*expr.Payload{
	ip4: {"saddr": inNetwork(12, 4), "daddr": inNetwork(16, 4)},
	ip6: {"saddr": inNetwork(8, 16), "daddr": inNetwork(24, 16)},
}

func inNetwork(offset, length uint32) *expr.Payload {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length}
}

func (b *builder) address(what string, m *network.NfTablesAddressMatch) {
	if m == nil {
		return
	}

	ranges, all := addressRanges(b.family, m.IncludeSubnets, m.ExcludeSubnets)

	switch {
	case len(ranges) == 0:
		b.never = b.never || !m.Invert
	case all:
		b.never = b.never || m.Invert
	default:
		kind := nft.Addresses4
		if b.family == ip6 {
			kind = nft.Addresses6
		}

		b.lookup(fmt.Sprintf("%s%d", what, b.family), m.Invert, kind, ranges, addressAt[b.family][what])
	}
}

func (b *builder) limit(m *network.NfTablesLimitMatch) {
	if m == nil {
		return
	}

	b.match(fmt.Sprintf("limit %d/s", m.PacketRatePerSecond),
		&expr.Limit{Type: expr.LimitTypePkts, Rate: m.PacketRatePerSecond, Unit: expr.LimitTimeSecond, Burst: burst})
}

// burst is how many packets above a limit match at once: the default of nft(8).
const burst = 5

var errProtocol = errors.New("it names ports or types of ICMP, but not the protocol")
