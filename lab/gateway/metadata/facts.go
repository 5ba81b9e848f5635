// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// everywhere is the address of most clouds' metadata servers.
var everywhere = netip.MustParseAddr("169.254.169.254")

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}

	return out
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// fqdn returns the instance's name with its domain, if it has one.
func (in *Instance) fqdn() string {
	if in.Domain == "" {
		return in.Name
	}

	return in.Name + "." + in.Domain
}

// first returns a card's first address of a protocol, with its subnet's length, and the router for it. They are invalid
// for a card that has none.
func (c *Card) first(is4 bool) (addr netip.Prefix, router netip.Addr) {
	if i := slices.IndexFunc(c.Addrs, func(a netip.Prefix) bool { return a.Addr().Is4() == is4 }); i >= 0 {
		addr = c.Addrs[i]
	}

	if i := slices.IndexFunc(c.Routers, func(r netip.Addr) bool { return r.Is4() == is4 }); i >= 0 {
		router = c.Routers[i]
	}

	return addr, router
}

// ipv4 and ipv6 return the first card's addresses, or an empty text.
func (in *Instance) ipv4() string { return addrText(in.Cards[0].addr4()) }
func (in *Instance) ipv6() string { return addrText(in.Cards[0].addr6()) }

func (c *Card) addr4() netip.Prefix {
	addr, _ := c.first(true)

	return addr
}

func (c *Card) addr6() netip.Prefix {
	addr, _ := c.first(false)

	return addr
}

// addrText returns an address, or an empty text.
func addrText(p netip.Prefix) string { return hostText(p.Addr()) }

// subnetText returns the subnet of an address, or an empty text.
func subnetText(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}

	return p.Masked().String()
}

func hostText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}

	return addr.String()
}

func netmask(p netip.Prefix) string {
	return net.IP(net.CIDRMask(p.Bits(), p.Addr().BitLen())).String()
}

// dns returns the DNS servers as texts.
func (in *Instance) dns() []string {
	list := []string{}
	for _, addr := range in.DNS {
		list = append(list, addr.String())
	}

	return list
}

// uuid returns a stable identifier in the form of a UUID, for clouds that use UUIDs. It is derived from the first
// card's hardware address.
func (in *Instance) uuid() string {
	var b [16]byte

	copy(b[10:], in.Cards[0].MAC)
	b[6], b[8] = 0x40, 0x80

	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// number returns the instance's id for clouds whose ids are numbers. It is derived from the first card's hardware
// address if ID is not a number.
func (in *Instance) number() uint64 {
	if n, err := strconv.ParseUint(in.ID, 10, 64); err == nil {
		return n
	}

	var n uint64
	for _, b := range in.Cards[0].MAC {
		n = n<<8 | uint64(b)
	}

	return n
}

// tags returns the instance's tags, never nil.
func (in *Instance) tags() object {
	tags := object{}
	for name, value := range in.Tags {
		tags[name] = value
	}

	return tags
}

// cardKind returns the clouds' name of a card's network: the first one's is public.
func cardKind(card int) string {
	if card == 0 {
		return "public"
	}

	return "private"
}
