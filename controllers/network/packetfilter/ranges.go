// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"go4.org/netipx"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
	"github.com/seed-59268b81/talos/sys/nft"
)

// addressRanges returns the addresses of a family that are in one subnet at least and in none of the excluded ones, and whether these are
// all addresses of the family.
func addressRanges(f family, include, exclude []netip.Prefix) (ranges []nft.Range, all bool) {
	var b netipx.IPSetBuilder

	for _, p := range include {
		if p.Addr().Is4() == (f == ip4) {
			b.AddPrefix(p.Masked())
		}
	}

	for _, p := range exclude {
		b.RemovePrefix(p.Masked())
	}

	// Each error is that of an invalid prefix, which contains nothing.
	set, _ := b.IPSet()
	if set == nil {
		return nil, false
	}

	for _, r := range set.Ranges() {
		ranges = append(ranges, nft.Range{First: string(r.From().AsSlice()), Last: string(r.To().AsSlice())})
	}

	whole := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	if f == ip4 {
		whole = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}

	return ranges, set.ContainsPrefix(whole)
}

// portRanges merges ranges of ports.
func portRanges(ports []network.PortRange) []nft.Range {
	sorted := slices.SortedFunc(slices.Values(ports), func(a, b network.PortRange) int { return cmp.Compare(a.Lo, b.Lo) })

	var merged []network.PortRange

	for _, r := range sorted {
		if last := len(merged) - 1; last >= 0 && int(r.Lo) <= int(merged[last].Hi)+1 {
			merged[last].Hi = max(merged[last].Hi, r.Hi)
		} else {
			merged = append(merged, r)
		}
	}

	var out []nft.Range

	for _, r := range merged {
		out = append(out, nft.Range{First: port(r.Lo), Last: port(r.Hi)})
	}

	return out
}

func port(p uint16) string { return string(binary.BigEndian.AppendUint16(nil, p)) }

// linkRanges returns the names of links as the kernel compares them.
func linkRanges(names []string) []nft.Range {
	return values(names, func(name string) string {
		b := make([]byte, unix.IFNAMSIZ)
		copy(b, name)

		return string(b)
	})
}

func icmpRanges(types []nethelpers.ICMPType) []nft.Range {
	return values(types, func(t nethelpers.ICMPType) string { return string([]byte{byte(t)}) })
}

// values returns each value once.
func values[T any](items []T, encode func(T) string) []nft.Range {
	var out []nft.Range

	for _, item := range items {
		out = append(out, nft.One(encode(item)))
	}

	slices.SortFunc(out, func(a, b nft.Range) int { return cmp.Compare(a.First, b.First) })

	return slices.Compact(out)
}
