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
