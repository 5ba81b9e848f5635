// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader reads values, and notes those that it cannot read. An empty text is read as the zero value.
type reader struct{ ignored []string }

// maxIgnored bounds the list: documents come from outside.
const maxIgnored = 20

func (r *reader) ignore(what string, err error) {
	if len(r.ignored) < maxIgnored {
		r.ignored = append(r.ignored, fmt.Sprintf("%s: %v", what, err))
	}
}

// json decodes a document that may be missing.
func (r *reader) json(docs documents, path string, v any) bool {
	text, ok := docs[path]
	if !ok {
		return false
	}

	if err := json.Unmarshal(text, v); err != nil {
		r.ignore(path, err)

		return false
	}

	return true
}

// yaml decodes a document that may be missing.
func (r *reader) yaml(docs documents, path string, v any) (ok bool) {
	text := docs[path]
	if len(bytes.TrimSpace(text)) == 0 {
		return false
	}

	// The text comes from outside, and the YAML library may panic.
	defer func() {
		if p := recover(); p != nil {
			r.ignore(path, fmt.Errorf("the parser panicked: %v", p))

			ok = false
		}
	}()

	if err := yaml.Unmarshal(text, v); err != nil {
		r.ignore(path, err)

		return false
	}

	return true
}

// addr reads an address; a prefix length behind it is ignored.
func (r *reader) addr(what, text string) netip.Addr {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "/")
	if text == "" {
		return netip.Addr{}
	}

	a, err := netip.ParseAddr(text)
	if err != nil {
		r.ignore(what, err)

		return netip.Addr{}
	}

	return a.Unmap().WithZone("")
}

// addrs reads addresses.
func (r *reader) addrs(what string, texts []string) (out []netip.Addr) {
	for _, text := range texts {
		if a := r.addr(what, text); a.IsValid() {
			out = append(out, a)
		}
	}

	return out
}

// prefix reads an address with the length of its network, as 10.5.0.2/24; a single address has all bits.
func (r *reader) prefix(what, text string) netip.Prefix {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "/") {
		return single(r.addr(what, text))
	}

	host, length, _ := strings.Cut(text, "/")

	return r.masked(what, host, length)
}

// masked reads an address whose network is given by a mask, or by a length.
func (r *reader) masked(what, address, mask string) netip.Prefix {
	a := r.addr(what, address)
	if !a.IsValid() {
		return netip.Prefix{}
	}

	n, err := maskBits(a, strings.TrimSpace(mask))
	if err != nil {
		r.ignore(what, err)

		return netip.Prefix{}
	}

	return netip.PrefixFrom(a, n)
}

// single returns a prefix that is one address.
func single(a netip.Addr) netip.Prefix {
	if !a.IsValid() {
		return netip.Prefix{}
	}

	return netip.PrefixFrom(a, a.BitLen())
}

// maskBits returns the length of a mask such as 24, 255.255.255.0 or ffff:ffff:ffff:ffff::. No mask is that of a single address.
func maskBits(a netip.Addr, mask string) (int, error) {
	if mask == "" {
		return a.BitLen(), nil
	}

	if n, err := strconv.Atoi(mask); err == nil {
		if n < 0 || n > a.BitLen() {
			return 0, fmt.Errorf("prefix length %d: want 0 to %d", n, a.BitLen())
		}

		return n, nil
	}

	m, err := netip.ParseAddr(mask)
	if err != nil || m.BitLen() != a.BitLen() {
		return 0, fmt.Errorf("mask %q of %s", mask, a)
	}

	n, ended := 0, false

	for _, b := range m.AsSlice() {
		ones := bits.LeadingZeros8(^b)
		if ended && b != 0 || b<<ones != 0 {
			return 0, fmt.Errorf("mask %q has holes", mask)
		}

		ended = ended || ones < 8
		n += ones
	}

	return n, nil
}

// mac reads a hardware address in one of the common forms, as 0a1b2c3d4e5f, and returns it as 0a:1b:2c:3d:4e:5f.
func (r *reader) mac(what, text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}

	plain := text
	if len(plain) == 12 && !strings.ContainsAny(plain, ":-.") {
		var parts []string
		for i := 0; i < len(plain); i += 2 {
			parts = append(parts, plain[i:i+2])
		}

		plain = strings.Join(parts, ":")
	}

	a, err := net.ParseMAC(plain)
	if err != nil {
		r.ignore(what, err)

		return ""
	}

	return a.String()
}

// defaultRoute adds a default route if there is a gateway. A gateway outside of the link's networks gets a route of its own.
func (l *Link) defaultRoute(gateway netip.Addr, metric uint32) {
	if !gateway.IsValid() || gateway.IsUnspecified() {
		return
	}

	if !gateway.IsLinkLocalUnicast() && !l.reaches(gateway) {
		l.Routes = append(l.Routes, Route{Destination: single(gateway), Metric: metric})
	}

	l.Routes = append(l.Routes, Route{Gateway: gateway, Metric: metric})
}

func (l *Link) reaches(a netip.Addr) bool {
	for _, p := range l.Addresses {
		if p.Contains(a) {
			return true
		}
	}

	return false
}

// add adds an address that is valid.
func (l *Link) add(p netip.Prefix) {
	if p.IsValid() {
		l.Addresses = append(l.Addresses, p)
	}
}

// fromBase64 decodes a configuration in base64.
func fromBase64(_ documents, text []byte) ([]byte, error) {
	out, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w", err)
	}

	return out, nil
}

// names returns the lines of a document that are not empty.
func names(text []byte) (out []string) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, string(line))
		}
	}

	return out
}

// mtu reads the MTU of a link.
func (r *reader) mtu(what, text string) uint32 {
	const least, most = 68, 65535

	n := r.metric(what, text)
	if n != 0 && (n < least || n > most) {
		r.ignore(what, fmt.Errorf("%d: want %d to %d", n, least, most))

		return 0
	}

	return n
}

// metric reads a number that is not negative.
func (r *reader) metric(what, text string) uint32 {
	if text == "" {
		return 0
	}

	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		r.ignore(what, err)
	}

	return uint32(n)
}
