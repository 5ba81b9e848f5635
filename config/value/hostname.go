// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// dnsLabel is one part of a DNS name (RFC 1123).
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// maxDNSName is the length of the longest DNS name, in bytes (RFC 1035).
const maxDNSName = 253

// IsDNSName reports whether text is a DNS name. Upper case is the same name to DNS.
func IsDNSName(text string) bool {
	text = strings.ToLower(text)

	return text != "" && len(text) <= maxDNSName && !slices.ContainsFunc(strings.Split(text, "."), func(label string) bool {
		return !dnsLabel.MatchString(label)
	})
}

// Hostname is the name of a machine, with or without a domain.
type Hostname string

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hostname) UnmarshalText(text []byte) error {
	if len(text) > 0 && !IsDNSName(string(text)) {
		return fmt.Errorf("%q is not a hostname: want letters, digits and dashes, in parts of up to 63 with dots between", text)
	}

	*h = Hostname(text)

	return nil
}

// Format implements Formatted.
func (Hostname) Format() Format { return Format{About: "a DNS name", Example: "node-1.example.com"} }

// lookupLabel is one part of a name that is looked up: labels of DNS may have underscores (RFC 2181), and those of many hosts do.
var lookupLabel = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)

// LookupName is a name that is looked up, or a domain of such names. Beside hostnames, it may have underscores, and a dot at its end.
type LookupName string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *LookupName) UnmarshalText(text []byte) error {
	name := strings.ToLower(strings.TrimSuffix(string(text), "."))

	if len(text) > 0 && (len(name) > maxDNSName || slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !lookupLabel.MatchString(label) })) {
		return fmt.Errorf("%q is not a name: want letters, digits, dashes and underscores, in parts of up to 63 with dots between", text)
	}

	*n = LookupName(text)

	return nil
}

// Format implements Formatted.
func (LookupName) Format() Format {
	return Format{About: "a DNS name", Example: "registry.example.com"}
}
