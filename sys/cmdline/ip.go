// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// IP is an `ip=` argument, as in the kernel's nfsroot documentation:
//
//	ip=client:server:gateway:netmask:hostname:device:autoconf:dns0:dns1:ntp0
//
// or only `ip=autoconf`. IPv6 addresses are in brackets. The netmask may be a prefix length.
type IP struct {
	// Address is invalid if DHCP configures the link.
	Address  netip.Prefix
	Gateway  netip.Addr
	Hostname string
	// Device is the link; empty means the first physical one.
	Device string
	// DHCP requests DHCPv4, Off disables it.
	DHCP, Off bool
	DNS       []netip.Addr
	NTP       []netip.Addr
}

// ParseIP reads the value of an `ip=` argument.
func ParseIP(value string) (IP, error) {
	fields := splitColons(value)

	if len(fields) > 10 {
		return IP{}, fmt.Errorf("kernel argument ip=%s: %d fields, want at most 10", value, len(fields))
	}

	field := func(i int) string {
		if i < len(fields) {
			return fields[i]
		}

		return ""
	}

	var ip IP

	method := field(6)

	// Only a method, or dracut's device:method.
	switch {
	case len(fields) == 1 && methods[field(0)] != "":
		fields, method = nil, field(0)
	case len(fields) == 2 && methods[field(1)] != "":
		ip.Device, method, fields = field(0), field(1), nil
	}

	ip.DHCP, ip.Off = methods[method] == "dhcp", methods[method] == "off"

	if method != "" && methods[method] == "" {
		return IP{}, fmt.Errorf("kernel argument ip=%s: autoconfiguration %q is not supported: want dhcp, none or off", value, method)
	}

	if fields == nil {
		return ip, nil
	}

	return ip, ip.setFields(value, field)
}

func (ip *IP) setFields(value string, field func(int) string) error {
	parse := func(i int, what string) (netip.Addr, error) {
		if field(i) == "" {
			return netip.Addr{}, nil
		}

		addr, err := netip.ParseAddr(field(i))
		if err != nil {
			return addr, fmt.Errorf("kernel argument ip=%s: %s: %w", value, what, err)
		}

		return addr.WithZone(""), nil
	}

	client, err := parse(0, "client address")
	if err != nil {
		return err
	}

	if client.IsValid() {
		length, err := prefixLength(field(3), client)
		if err != nil {
			return fmt.Errorf("kernel argument ip=%s: %w", value, err)
		}

		ip.Address = netip.PrefixFrom(client, length)
	}

	if ip.Gateway, err = parse(2, "gateway"); err != nil {
		return err
	}

	ip.Hostname, ip.Device = field(4), field(5)

	for _, server := range []struct {
		field int
		list  *[]netip.Addr
	}{{7, &ip.DNS}, {8, &ip.DNS}, {9, &ip.NTP}} {
		addr, err := parse(server.field, "server address")
		if err != nil {
			return err
		}

		if addr.IsValid() && !addr.IsUnspecified() {
			*server.list = append(*server.list, addr)
		}
	}

	return nil
}

// methods of autoconfiguration, with what each means here.
var methods = map[string]string{
	"off": "off", "none": "none", "static": "none",
	"dhcp": "dhcp", "on": "dhcp", "any": "dhcp", "both": "dhcp", "bootp": "dhcp", "dhcp4": "dhcp",
}

// prefixLength reads a netmask, 255.255.255.0 or 24. An empty one means the whole address.
func prefixLength(mask string, addr netip.Addr) (int, error) {
	if mask == "" {
		return addr.BitLen(), nil
	}

	if m, err := netip.ParseAddr(mask); err == nil && m.BitLen() == addr.BitLen() {
		ones, ended := 0, false

		for _, b := range m.AsSlice() {
			n := bits.LeadingZeros8(^b)
			if ended && b != 0 || b<<n != 0 {
				return 0, fmt.Errorf("netmask %s has holes", mask)
			}

			ones += n
			ended = n < 8
		}

		return ones, nil
	}

	n, err := strconv.Atoi(mask)
	if err != nil || n < 0 || n > addr.BitLen() {
		return 0, fmt.Errorf("netmask %q: want a mask such as 255.255.255.0 or a length up to %d", mask, addr.BitLen())
	}

	return n, nil
}

// splitColons splits at colons outside of brackets, and removes the brackets.
func splitColons(s string) []string {
	var (
		fields []string
		start  int
		inside bool
	)

	for i, c := range []byte(s) {
		switch {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == ':' && !inside:
			fields = append(fields, trimBrackets(s[start:i]))
			start = i + 1
		}
	}

	return append(fields, trimBrackets(s[start:]))
}

func trimBrackets(s string) string {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return s[1 : len(s)-1]
	}

	return s
}
