// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// sizeofRule is the length of struct fib_rule_hdr (include/uapi/linux/fib_rules.h): family, lengths of the destination's and the source's
// prefix, TOS, table, two reserved bytes, action, flags.
const sizeofRule = 12

var errShortRule = errors.New("a rule is too short")

// Rules implements Kernel. A kernel without routing rules has none.
func (c *Conn) Rules() ([]Rule, error) {
	rules, err := list(c, "rules", anyRule{}, unix.RTM_GETRULE, decodeRule)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}

	return rules, err
}

// anyRule requests the rules of all families.
type anyRule struct{}

func (anyRule) MarshalBinary() ([]byte, error) { return make([]byte, sizeofRule), nil }

// decodeRule decodes a rule of IPv4 or IPv6. Attributes that this package does not know are left out.
func decodeRule(data []byte) (Rule, bool, error) {
	if len(data) < sizeofRule {
		return Rule{}, false, errShortRule
	}

	r := Rule{Family: data[0], Table: uint32(data[4]), Action: data[7]}
	if r.Family != unix.AF_INET && r.Family != unix.AF_INET6 {
		return Rule{}, false, nil
	}

	ad, err := netlink.NewAttributeDecoder(data[sizeofRule:])
	if err != nil {
		return Rule{}, false, err
	}

	for ad.Next() {
		switch ad.Type() {
		case unix.FRA_DST:
			r.Destination = prefixOf(ad.Bytes(), data[1])
		case unix.FRA_SRC:
			r.Source = prefixOf(ad.Bytes(), data[2])
		case unix.FRA_IIFNAME:
			r.InLink = ad.String()
		case unix.FRA_OIFNAME:
			r.OutLink = ad.String()
		case unix.FRA_PRIORITY:
			r.Priority = ad.Uint32()
		case unix.FRA_FWMARK:
			r.Mark = ad.Uint32()
		case unix.FRA_FWMASK:
			r.Mask = ad.Uint32()
		case unix.FRA_TABLE:
			r.Table = ad.Uint32()
		case unix.FRA_PROTOCOL:
			r.Protocol = ad.Uint8()
		}
	}

	return r, true, ad.Err()
}

func prefixOf(address []byte, bits uint8) netip.Prefix {
	addr, ok := netip.AddrFromSlice(address)
	if !ok {
		return netip.Prefix{}
	}

	return netip.PrefixFrom(addr, int(bits))
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (r Rule) MarshalBinary() ([]byte, error) {
	header := make([]byte, sizeofRule)
	header[0], header[7] = r.Family, r.Action

	if r.Table < 256 {
		header[4] = uint8(r.Table)
	}

	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.FRA_PRIORITY, r.Priority)
	ae.Uint32(unix.FRA_TABLE, r.Table)
	ae.Uint8(unix.FRA_PROTOCOL, r.Protocol)

	if r.Destination.IsValid() {
		header[1] = uint8(r.Destination.Bits())
		ae.Bytes(unix.FRA_DST, r.Destination.Addr().AsSlice())
	}

	if r.Source.IsValid() {
		header[2] = uint8(r.Source.Bits())
		ae.Bytes(unix.FRA_SRC, r.Source.Addr().AsSlice())
	}

	if r.InLink != "" {
		ae.String(unix.FRA_IIFNAME, r.InLink)
	}

	if r.OutLink != "" {
		ae.String(unix.FRA_OIFNAME, r.OutLink)
	}

	if r.Mark != 0 || r.Mask != 0 {
		ae.Uint32(unix.FRA_FWMARK, r.Mark)
		ae.Uint32(unix.FRA_FWMASK, r.Mask)
	}

	attributes, err := ae.Encode()

	return append(header, attributes...), err
}

// AddRule implements Kernel.
func (c *Conn) AddRule(r Rule) error {
	if err := c.execute(r, unix.RTM_NEWRULE, netlink.Request|netlink.Create|netlink.Excl|netlink.Acknowledge); err != nil {
		return fmt.Errorf("add rule %s: %w", r, err)
	}

	return nil
}

// DeleteRule implements Kernel.
func (c *Conn) DeleteRule(r Rule) error {
	if err := ignoreMissing(c.execute(r, unix.RTM_DELRULE, netlink.Request|netlink.Acknowledge)); err != nil {
		return fmt.Errorf("delete rule %s: %w", r, err)
	}

	return nil
}

// String prints the rule as iproute2 does.
func (r Rule) String() string {
	var b strings.Builder

	fmt.Fprintf(&b, "%d: from %s", r.Priority, orAll(r.Source))

	if r.Destination.IsValid() {
		fmt.Fprintf(&b, " to %s", r.Destination)
	}

	if r.Mark != 0 || r.Mask != 0 {
		fmt.Fprintf(&b, " fwmark %#x/%#x", r.Mark, r.Mask)
	}

	if r.InLink != "" {
		b.WriteString(" iif " + r.InLink)
	}

	if r.OutLink != "" {
		b.WriteString(" oif " + r.OutLink)
	}

	if r.Action == unix.FR_ACT_TO_TBL {
		fmt.Fprintf(&b, " lookup %d", r.Table)
	} else {
		fmt.Fprintf(&b, " action %d", r.Action)
	}

	return b.String()
}

func orAll(p netip.Prefix) string {
	if !p.IsValid() {
		return "all"
	}

	return p.String()
}
