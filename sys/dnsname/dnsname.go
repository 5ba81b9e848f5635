// SPDX-License-Identifier: Apache-2.0

// Package dnsname checks names of hosts and domains that come from the network. They end up in files such as
// /etc/resolv.conf, in which a line break or a space would begin something else.
package dnsname

import "strings"

// maxLength is that of a name in text (RFC 1035, 2.3.4).
const maxLength = 253

// Trim takes off the zeros, dots and spaces with which some servers end their names.
func Trim(s string) string { return strings.TrimRight(s, "\x00. ") }

// Valid reports whether s is a name of letters, digits, hyphens, underscores and dots.
func Valid(s string) bool {
	if s == "" || len(s) > maxLength {
		return false
	}

	for _, c := range []byte(s) {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}

	return true
}
